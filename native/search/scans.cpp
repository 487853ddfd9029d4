// The searches' inner loops for any processor (see scans.hpp).
#include "search/scans_body.hpp"

namespace shoal {

const Scans& baseline_scans() { return kScans; }

}  // namespace shoal
