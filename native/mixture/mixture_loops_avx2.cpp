// The inner loops of the E-step for processors with AVX2 (see mixture_loops.hpp); the build compiles this file for that
// instruction set. Elsewhere the baseline is used.
#include "mixture/mixture_loops_body.hpp"

namespace shoal::mixture {

#ifdef __AVX2__
const MixtureLoops& avx2_mixture_loops() { return kLoops; }
#else
const MixtureLoops& avx2_mixture_loops() { return baseline_mixture_loops(); }
#endif

}  // namespace shoal::mixture
