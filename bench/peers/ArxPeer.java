// Runs ARX on one table for bench/peers/generalise.py: k-anonymity over given hierarchies, full-domain or local recoding.
//
// java ArxPeer TABLE HIERARCHIES OUT RECODING K LIMIT STEP COLUMN...
//
// TABLE is a CSV file separated by semicolons; HIERARCHIES the folder and beginning of the hierarchy files' names; RECODING is
// full-domain or local; LIMIT the share of records that may be suppressed; STEP the share recoded at each step of local recoding.
// Where RECODING is safepub, K is epsilon, LIMIT delta, and STEP the epsilon of the search.
import java.io.File;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Set;
import org.deidentifier.arx.ARXAnonymizer;
import org.deidentifier.arx.ARXConfiguration;
import org.deidentifier.arx.ARXResult;
import org.deidentifier.arx.AttributeType;
import org.deidentifier.arx.AttributeType.Hierarchy;
import org.deidentifier.arx.Data;
import org.deidentifier.arx.DataHandle;
import org.deidentifier.arx.criteria.EDDifferentialPrivacy;
import org.deidentifier.arx.criteria.KAnonymity;
import org.deidentifier.arx.metric.Metric;
import org.deidentifier.arx.metric.Metric.AggregateFunction;

public class ArxPeer {
  public static void main(String[] args) throws Exception {
    Data data = Data.create(new File(args[0]), StandardCharsets.UTF_8, ';');
    Set<String> columns = new HashSet<>(Arrays.asList(args).subList(7, args.length));
    DataHandle handle = data.getHandle();
    for (int c = 0; c < handle.getNumColumns(); c++) {
      String name = handle.getAttributeName(c);
      if (columns.contains(name)) {
        File file = new File(args[1] + name + ".csv");
        data.getDefinition().setAttributeType(name, Hierarchy.create(file, StandardCharsets.UTF_8, ';'));
      } else {
        data.getDefinition().setAttributeType(name, AttributeType.INSENSITIVE_ATTRIBUTE);
      }
    }
    boolean local = args[3].equals("local");
    ARXConfiguration configuration = ARXConfiguration.create();
    boolean safepub = args[3].equals("safepub");
    if (safepub) {
      configuration.addPrivacyModel(new EDDifferentialPrivacy(Double.parseDouble(args[4]), Double.parseDouble(args[5])));
      configuration.setDPSearchBudget(Double.parseDouble(args[6]));
      configuration.setHeuristicSearchStepLimit(300);
    } else {
      configuration.addPrivacyModel(new KAnonymity(Integer.parseInt(args[4])));
    }
    configuration.setHeuristicSearchThreshold(1_000_000); // lattices up to this size are searched whole, as ours are
    configuration.setSuppressionLimit(local || safepub ? 1d : Double.parseDouble(args[5]));
    configuration.setQualityModel(Metric.createLossMetric(local ? 0d : 0.5d, AggregateFunction.ARITHMETIC_MEAN));
    ARXResult result = new ARXAnonymizer().anonymize(data, configuration);
    DataHandle out = result.getOutput(false);
    if (local) {
      result.optimizeIterativeFast(out, Double.parseDouble(args[6]));
    }
    out.save(new File(args[2]), ';');
  }
}
