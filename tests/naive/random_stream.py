"""The kernels' generator in plain Python integers: xoshiro256++ seeded by splitmix64."""

MASK = (1 << 64) - 1


class RandomStream:
    def __init__(self, seed: int) -> None:
        self.state = []
        for _ in range(4):
            seed = (seed + 0x9E3779B97F4A7C15) & MASK
            z = seed
            z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
            z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
            self.state.append(z ^ (z >> 31))

    def bits(self) -> int:
        def rotate(x, s):
            return ((x << s) | (x >> (64 - s))) & MASK

        s = self.state
        result = (rotate((s[0] + s[3]) & MASK, 23) + s[0]) & MASK
        t = (s[1] << 17) & MASK
        s[2] ^= s[0]
        s[3] ^= s[1]
        s[1] ^= s[2]
        s[0] ^= s[3]
        s[2] ^= t
        s[3] = rotate(s[3], 45)
        return result

    def below(self, n: int) -> int:
        limit = n * (MASK // n)
        draw = self.bits()
        while draw >= limit:
            draw = self.bits()
        return draw % n
