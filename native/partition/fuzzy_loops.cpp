// The inner loops of fuzzy clustering for any processor (see fuzzy_loops.hpp).
#include "partition/fuzzy_loops_body.hpp"

namespace shoal {

const FuzzyLoops& baseline_fuzzy_loops() { return kLoops; }

}  // namespace shoal
