"""The picture of the front page: people before and after, drawn from groups that MDAV really forms."""

import numpy as np

import shoal

K, PEOPLE, SIDE, GAP = 4, 28, 300, 60
INKS = ("#1f6fb2", "#9a5a20", "#0b6b4f", "#8a4fa3", "#a3261d", "#5b6770", "#b58900")


def front_picture() -> str:
    """28 people by age and income; on the right in groups of four or more, each at the group's average."""
    rng = np.random.default_rng(4)
    age = rng.uniform(20, 90, PEOPLE)
    income = 15 + 0.5 * age + rng.normal(0, 9, PEOPLE)
    x = np.column_stack([_scaled(age), _scaled(income)])
    groups = shoal.MDAV(k=K).partition(x).labels
    means = np.array([x[groups == g].mean(axis=0) for g in range(groups.max() + 1)])
    before = [_dot(px, py, INKS[0], 5) for px, py in x]
    after = [_line(*p, *means[g], INKS[g % len(INKS)]) for p, g in zip(x, groups)]
    after += [_dot(mx, my, INKS[g % len(INKS)], 9) for g, (mx, my) in enumerate(means)]
    after += [_count(mx, my, int((groups == g).sum())) for g, (mx, my) in enumerate(means)]
    width, height = 2 * SIDE + GAP, SIDE + 44
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="-20 0 {width + 22} {height}" role="img" '
            'font-family="sans-serif">',
            "<title>Every person on the left stands alone; on the right everyone is one of a group</title>",
            _panel(0, "Everyone can be told apart", before),
            _panel(SIDE + GAP, f"Nobody can: groups of {K} or more", after),
            "</svg>",
            "",
        ]
    )


def _scaled(values: np.ndarray) -> np.ndarray:
    low, high = values.min(), values.max()
    return 24 + (SIDE - 48) * (values - low) / (high - low)


def _panel(left: int, title: str, marks: list[str]) -> str:
    box = f'<rect width="{SIDE}" height="{SIDE}" fill="#fff" stroke="#c9cdd2"/>'
    axes = f'<text x="{SIDE / 2}" y="{SIDE + 16}" text-anchor="middle" font-size="12" fill="#6b747c">age</text>'
    axes += (
        f'<text transform="translate(-7,{SIDE / 2}) rotate(-90)" text-anchor="middle" font-size="12" fill="#6b747c">'
    )
    axes += "income</text>"
    head = f'<text x="{SIDE / 2}" y="-8" text-anchor="middle" font-size="14" fill="#6b747c">{title}</text>'
    return f'<g transform="translate({left + 1},24)">{head}{box}{axes}{"".join(marks)}</g>'


def _dot(x: float, y: float, ink: str, radius: int) -> str:
    return f'<circle cx="{x:.1f}" cy="{SIDE - y:.1f}" r="{radius}" fill="{ink}"/>'


def _line(x: float, y: float, to_x: float, to_y: float, ink: str) -> str:
    ends = f'x1="{x:.1f}" y1="{SIDE - y:.1f}" x2="{to_x:.1f}" y2="{SIDE - to_y:.1f}"'
    return f'<line {ends} stroke="{ink}" stroke-opacity=".45"/>{_dot(x, y, ink, 3)}'


def _count(x: float, y: float, people: int) -> str:
    return f'<text x="{x:.1f}" y="{SIDE - y + 3.5:.1f}" text-anchor="middle" font-size="10" fill="#fff">{people}</text>'
