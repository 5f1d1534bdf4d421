/**
 * Functions made from a seed whose branches and loops leave tensors that lie in memory differently: views of
 * one another, strided arguments, results of ops, with and without gradients. Some are written in place later.
 */

import { around, Choices, line, type Node, print } from './tree.ts';

/** Functions that the text takes from around it. */
export const outerNames = ['noGrad', 'where', 'zeros'] as const;

/** `mixed`: of several dtypes. `sized`: of sizes that the arguments decide. */
export type Kind = 'plain' | 'mixed' | 'sized';

const variables = ['a', 'b', 'c'] as const;

/** What several dtypes add: whole numbers, truth values, and floats of another precision. */
const mixedArguments = ', whole, mask, half, double';

/** Of a matrix with gradients, a strided one, a memory that is written, a row and a weight. */
export function functionText(nodes: readonly Node[], kind: Kind = 'plain'): string {
  return `(m, s, buf, row, w, x${kind === 'mixed' ? mixedArguments : ''}) => {
  const size = ${kind === 'sized' ? 'm.shape[0]' : 3};
  let a = m, b = s, c = buf.narrow(1, 0, size), n = 0;
  const held = { t: buf.narrow(1, 1, size) };
${print(nodes)}
  return [a, b, c, held.t, n, a.sum(0), b.sum(1), c.mul(1).${kind === 'mixed' ? 'sum' : 'mean'}(), buf.sum(0), s.sum(0)];
}`;
}

export function programFrom(seed: number, kind: Kind = 'plain'): readonly Node[] {
  const statements = new Statements(new Choices(seed), kind);
  return Array.from({ length: 3 + (seed % 4) }, () => statements.statement(0));
}

const dtypes = ['float32', 'float32', 'float64', 'float16', 'int32', 'bool'] as const;

class Statements {
  readonly #choices: Choices;
  readonly #isMixed: boolean;

  constructor(choices: Choices, kind: Kind) {
    this.#choices = choices;
    this.#isMixed = kind === 'mixed';
  }

  statement(depth: number): Node {
    const kind = this.#choices.below(depth < 2 ? 14 : 9);
    if (kind < 5) return line(`${this.#target()} = ${this.#value()};`);
    if (kind < 7) return this.#write();
    if (kind === 7) return line(`n += ${this.#question()};`);
    if (kind === 8) return line(`[a, b, c] = [b, c, a];`);
    return this.#compound(kind, depth + 1);
  }

  #block(depth: number): readonly Node[] {
    return Array.from({ length: 1 + this.#choices.below(3) }, () => this.statement(depth));
  }

  #compound(kind: number, depth: number): Node {
    const block = () => this.#block(depth);
    if (kind < 11) return around(`if (${this.#test()})`, [block()]);
    if (kind < 12) return around(`if (${this.#test()})`, [block(), block()]);
    const i = this.#choices.name('i');
    if (kind === 12) {
      const open = `let ${i} = 0;\nwhile (${this.#test()}) {\nif (++${i} > 3) break;\n`;
      return { ...around('', [block()]), open };
    }
    const leave = line(`if (${this.#test()}) ${this.#choices.one(['break', 'continue'])};`);
    return around(`for (let ${i} = 0; ${i} < 2; ${i}++)`, [[...block(), leave, ...block()]]);
  }

  #target(): string {
    return this.#choices.one([...variables, ...variables, 'held.t']);
  }

  #name(): string {
    const others = this.#isMixed ? ['whole', 'mask', 'half', 'double'] : [];
    return this.#choices.one([...variables, ...variables, 'held.t', 'm', 's', ...others]);
  }

  #cast(): string {
    return `to('${this.#choices.one(dtypes)}')`;
  }

  #value(): string {
    const [u, v] = [this.#name(), this.#name()];
    const at = this.#choices.below(3);
    return this.#choices.one([
      u,
      v,
      `${u}.t()`,
      `${u}.t()`,
      `buf.narrow(1, ${at}, size)`,
      `buf.narrow(1, ${at}, size).t()`,
      `${u}.narrow(0, 0, size)`,
      'row.expand([size, size])',
      `${u}.mul(0.6)`,
      `${u}.add(${v})`,
      `${u}.sub(w).tanh()`,
      `noGrad(() => ${u}.mul(0.7))`,
      `${u}.detach()`,
      `${u}.contiguous()`,
      'zeros([size, size])',
      `${u}.select(0, ${at}).add(${v})`,
      ...(this.#isMixed ? this.#mixed(u, v) : []),
    ]);
  }

  /** Casts, comparisons, and ops that promote. */
  #mixed(u: string, v: string): string[] {
    return [
      `${u}.${this.#cast()}`,
      `${u}.${this.#cast()}.t()`,
      `${u}.gt(${v})`,
      `${u}.mul(${v}.${this.#cast()})`,
      `${u}.mul(2)`,
      `${u}.add(0.5)`,
      `where(${u}.gt(0), ${u}, ${v})`,
      `${u}.sum(0).add(${v})`,
    ];
  }

  #write(): Node {
    const [t, u] = [this.#name(), this.#name()];
    const at = this.#choices.below(3);
    const write = this.#choices.one([
      `${t}.mul_(0.5)`,
      `${t}.add_(1)`,
      `${t}.copy_(${u})`,
      `${t}.select(${this.#choices.below(2)}, ${at}).fill_(2)`,
      `${t}.add_(${u}.detach().t())`,
      `buf.narrow(1, ${at}, 2).sub_(0.3)`,
      ...(this.#isMixed ? [`${t}.copy_(${u}.${this.#cast()})`, `${t}.mul_(${u}.gt(0))`] : []),
    ]);
    const quiet = this.#choices.below(3) > 0;
    return line(quiet ? `noGrad(() => { ${write}; });` : `${write};`);
  }

  #question(): string {
    const t = this.#name();
    return this.#choices.one([
      `(${t}.requiresGrad ? 1 : 10)`,
      `(${t}.isContiguous ? 100 : 1000)`,
      `${t}.sum(0).max().itemSync()`,
    ]);
  }

  #test(): string {
    const t = this.#name();
    const limit = this.#choices.below(5) - 2;
    return this.#choices.one([
      `x.select(0, ${this.#choices.below(3)}).itemSync() > 0`,
      `${t}.sum().itemSync() > ${limit}`,
      `${t}.select(0, 0).max().itemSync() < ${limit}`,
    ]);
  }
}
