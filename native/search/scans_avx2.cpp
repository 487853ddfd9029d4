// The searches' inner loops for processors with AVX2 (see scans.hpp); the build compiles this file, and no
// other, for that instruction set. Elsewhere it is empty and the baseline is used.
#include "search/scans_body.hpp"

namespace shoal {

#ifdef __AVX2__
const Scans& avx2_scans() { return kScans; }
bool avx2_available() { return __builtin_cpu_supports("avx2"); }
#else
const Scans& avx2_scans() { return baseline_scans(); }
bool avx2_available() { return false; }
#endif

}  // namespace shoal
