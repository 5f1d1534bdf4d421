/**
 * Small functions whose decisions depend on tensors, made from a seed: branches and loops inside one
 * another, with state in variables, objects and arrays. A program is a tree, so that one that fails can
 * be made smaller.
 */

/** Numbers from a seed (mulberry32). */
function numbersFrom(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

/** A statement: text around the statements inside. */
export interface Node {
  readonly open: string;
  readonly inner: readonly (readonly Node[])[];
  /** Between the lists inside. */
  readonly between?: string;
  readonly close: string;
}

const line = (text: string): Node => ({ open: text, inner: [], close: '' });

export function print(nodes: readonly Node[]): string {
  return nodes
    .map(({ open, inner, between = '', close }) =>
      inner.length === 0 ? open : open + inner.map(print).join(between) + close,
    )
    .join('\n');
}

const result = (first: string): string =>
  `[${first}, b, n, m, maybe, mode, box, other, held === box, list.length, list.at(-1) ?? x, map.get('k') ?? a, f(x)]`;

/** The whole function: of a tensor of two elements, one that is written in place, and one of three rows. */
export function functionText(nodes: readonly Node[]): string {
  return `(x, buffer, rows) => {
  let a = x, b = x.mul(0.5), n = 0, m = 1, maybe = null, mode = 'p';
  const box = { h: x, k: 1 };
  const other = { h: x.mul(2), k: 2 };
  let held = box;
  const list = [x];
  const map = new Map();
  let f = (y) => y.mul(0.5);
${print(nodes)}
  return ${result('a')};
}`;
}

interface Place {
  readonly depth: number;
  /** Inside a loop, so that it may be left or continued. */
  readonly looped: boolean;
  /** Inside a `try`, where a throw of the program has no place. */
  readonly guarded: boolean;
  /** Labels of the loops around. */
  readonly labels: readonly string[];
}

const tensors = ['a', 'b', 'box.h', 'held.h', 'other.h'] as const;
const numbers = ['n', 'm', 'box.k', 'held.k'] as const;

export function programFrom(seed: number): readonly Node[] {
  const below = numbersFrom(seed);
  const one = <T>(all: readonly T[]): T => all[below(all.length)]!;
  const tensor = (): string => one(tensors);
  const number = (): string => one([...numbers, `${below(5) - 2}`]);
  let loops = 0;

  let nested = 0;
  const test = (): string => {
    // A decision in an expression in a decision: enough is enough.
    if (nested > 1) return `n > ${below(3)}`;
    nested++;
    const text = decision();
    nested--;
    return text;
  };
  const expression = (): string => {
    const t = tensor();
    return one([
      `${t}.mul(0.75)`,
      `${t}.add(${tensor()}).mul(0.5)`,
      `${t}.sub(1)`,
      `${t}.tanh()`,
      `${t}.neg()`,
      `${t}.add(${number()})`,
      `f(${t})`,
      `(maybe ?? ${t}).add(0.25)`,
      `${t}.mul(${t}.sum().itemSync() > 0 ? 0.5 : 0.25)`,
      `(list.at(-1) ?? ${t}).mul(0.5)`,
      `${t}.add(buffer).mul(0.5)`,
      `(${test()} ? ${t} : ${tensor()}.mul(0.5))`,
      `${t}.mul(Math.min(1, Math.abs(${scalar()})))`,
      `(n > 1 && maybe || ${t}).sub(0.5)`,
    ]);
  };
  const scalar = (): string => {
    const t = tensor();
    return one([
      `${t}.sum().itemSync()`,
      `${t}.max().itemSync()`,
      `${t}.select(0, 1).itemSync()`,
      `${t}.mean().itemSync() * ${number()}`,
      `buffer.sum().itemSync()`,
    ]);
  };
  const decision = (): string => {
    const s = scalar();
    return one([
      `${s} > ${below(7) - 3}`,
      `${s} < ${below(7) - 3}`,
      `${s} > ${number()}`,
      `!(${s} >= ${scalar()})`,
      `${s} > 0 && ${scalar()} < 2`,
      `${s} < 0 || n > 2`,
      'maybe',
      'maybe === null',
      "mode === 'q'",
      'held === box',
      `list.length > ${below(3)}`,
      `n % 2 === 0`,
      "map.has('k')",
    ]);
  };
  const assignment = (place: Place): Node => {
    const t = one(['a', 'b', 'box.h', 'held.h']);
    return line(
      one([
        `${t} = ${expression()};`,
        `${t} = ${expression()};`,
        `${t} = ${expression()};`,
        `n = Math.trunc(${scalar()}) % 7;`,
        `m += ${number()};`,
        `${one(numbers)} = ${number()};`,
        `maybe = ${one(['null', expression()])};`,
        `mode = '${one(['p', 'q'])}';`,
        `held = ${one(['box', 'other'])};`,
        place.looped ? `n++;` : `list.push(${expression()});`,
        place.looped ? `m = n;` : 'if (list.length > 1) list.pop();',
        `map.set('k', ${expression()});`,
        `f = (y) => y.${one(['mul(2)', 'add(n)', 'sub(m)'])};`,
        `buffer.${one(['add_(1)', 'mul_(0.5)', `sub_(${number()})`, 'neg_()', 'zero_()'])};`,
        `buffer.copy_(${tensor()}.detach());`,
        `buffer.select(0, ${below(2)}).${one(['add_(2)', `add_(${tensor()}.detach().mean())`])};`,
        place.guarded ? `n--;` : `if (${test()}) throw new RangeError(mode + '${below(9)}');`,
      ]),
    );
  };
  const jumps = ({ labels }: Place) => labels.flatMap((at) => [`break ${at}`, `continue ${at}`]);
  const block = (place: Place): readonly Node[] =>
    Array.from({ length: 1 + below(2) }, () => statement(place));
  const statement = (place: Place): Node => {
    const deeper = { ...place, depth: place.depth + 1 };
    const choices = place.depth < 2 ? 15 : 5;
    switch (below(choices)) {
      case 5:
      case 6:
        return { open: `if (${test()}) {\n`, inner: [block(deeper)], close: '\n}' };
      case 7:
        return {
          open: `if (${test()}) {\n`,
          inner: [block(deeper), block(deeper)],
          between: '\n} else {\n',
          close: '\n}',
        };
      case 8: {
        const i = `i${loops++}`;
        const label = `l${i}`;
        return {
          open: `let ${i} = 0;\n${label}: while (${test()}) {\nif (++${i} > ${1 + below(4)}) break;\n`,
          inner: [block({ ...deeper, looped: true, labels: [...place.labels, label] })],
          close: '\n}',
        };
      }
      case 12: {
        const i = `i${loops++}`;
        return {
          open: `let ${i} = 0;\ndo {\n`,
          inner: [block({ ...deeper, looped: true })],
          close: `\n} while (++${i} < ${1 + below(3)} && ${test()});`,
        };
      }
      case 13: {
        const row = `r${loops++}`;
        return {
          open: `for (const ${row} of rows) {\na = a.add(${row}).mul(0.5);\n`,
          inner: [block({ ...deeper, looped: true })],
          close: '\n}',
        };
      }
      case 14:
        return {
          open: 'try {\n',
          inner: [
            block({ ...deeper, guarded: true }),
            [assignment({ ...place, looped: false, guarded: true })],
          ],
          between: '\n} finally {\n',
          close: '\n}',
        };
      case 9: {
        const i = `i${loops++}`;
        return {
          open: `for (let ${i} = 0; ${i} < ${1 + below(3)}; ${i}++) {\n`,
          inner: [block({ ...deeper, looped: true })],
          close: '\n}',
        };
      }
      case 10:
        if (!place.looped) return assignment(place);
        return line(`if (${test()}) ${one(['break', 'continue', ...jumps(place)])};`);
      case 11:
        return line(`if (${test()}) return ${result(expression())};`);
      default:
        return assignment(place);
    }
  };
  return Array.from({ length: 2 + below(3) }, () =>
    statement({ depth: 0, looped: false, guarded: false, labels: [] }),
  );
}

/** All programs with one statement fewer, or one replaced by what is inside. */
export function* smaller(nodes: readonly Node[]): Generator<readonly Node[]> {
  for (const [i, node] of nodes.entries()) {
    const [before, after] = [nodes.slice(0, i), nodes.slice(i + 1)];
    yield [...before, ...after];
    for (const inner of node.inner) yield [...before, ...inner, ...after];
    for (const [k, inner] of node.inner.entries()) {
      for (const less of smaller(inner)) {
        const changed = node.inner.map((each, at) => (at === k ? less : each));
        yield [...before, { ...node, inner: changed }, ...after];
      }
    }
  }
}
