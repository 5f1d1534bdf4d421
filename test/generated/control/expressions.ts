import type { Choices } from './tree.ts';

const tensors = ['a', 'b', 'box.h', 'held.h', 'other.h', 'cell.h'] as const;
const numbers = ['n', 'm', 'box.k', 'held.k', 'cell.count'] as const;

/** Expressions over the variables of a program: tensors of two elements, numbers, decisions. */
export class Expressions {
  readonly #choices: Choices;
  /** Numbers that each run calls for are among them. */
  readonly #calls: boolean;
  #nested = 0;

  constructor(choices: Choices, calls: boolean) {
    this.#choices = choices;
    this.#calls = calls;
  }

  /** A name of a tensor. */
  name(): string {
    return this.#choices.one(tensors);
  }

  number(): string {
    const { one, below } = this.#bound();
    return one([...numbers, `${below(5) - 2}`]);
  }

  tensor(): string {
    const { one } = this.#bound();
    const t = this.name();
    const form = one<() => string>([
      () => `${t}.mul(0.7)`,
      () => `${t}.add(${this.name()}).mul(0.6)`,
      () => `${t}.mul(${this.name()}).tanh()`,
      () => `${t}.sub(1)`,
      () => `${t}.tanh()`,
      () => `${t}.sigmoid().sub(${t})`,
      () => `${t}.neg()`,
      () => `${t}.add(${this.number()})`,
      () => `f(${t})`,
      () => `(maybe ?? ${t}).add(0.25)`,
      () => `${t}.mul(${t}.sum().itemSync() > 0 ? 0.7 : 0.3)`,
      () => `(list.at(-1) ?? ${t}).mul(0.9)`,
      () => `stack(list.length > 0 ? list : [${t}]).mean(0).mul(${t})`,
      () => `(list[${this.#index()}] ?? ${t}).mul(${this.name()}).tanh()`,
      () => `${t}.add(buffer).mul(0.6)`,
      () => `(${this.test()} ? ${t} : ${this.name()}.mul(0.6))`,
      () => `${t}.mul(Math.min(1, Math.abs(${this.scalar()})))`,
      () => `(n > 1 && maybe || ${t}).sub(0.4)`,
      () => `deeper(${t}, ${one(['0', '1', '2'])})`,
      () => `cell.step(${one(['0.7', 'm', '1.2'])})`,
      () => `(map.get(${this.key()}) ?? ${t}).mul(0.8)`,
      () => `(held?.h ?? ${t}).sub(0.2)`,
      () => `[${t}, ${this.name()}].reduce((all, each) => all.add(each)).mul(0.4)`,
      () => `${t}.mul(rand([2]))`,
      ...(this.#calls
        ? [() => `${t}.add((Date.now() % 5) * 0.2)`, () => `${t}.mul(Math.random())`]
        : []),
    ]);
    return form();
  }

  /** A number that the data decides. */
  scalar(): string {
    const { one } = this.#bound();
    const t = this.name();
    return one([
      `${t}.sum().itemSync()`,
      `${t}.max().itemSync()`,
      `${t}.select(0, 1).itemSync()`,
      `${t}.mean().itemSync() * ${this.number()}`,
      'buffer.sum().itemSync()',
      ...(this.#calls ? [`(Math.random() * 3 - ${this.number()})`, 'Date.now() % 4'] : []),
    ]);
  }

  /** A condition: of the data, of the host, or of both. */
  test(): string {
    const { one, below } = this.#bound();
    // A decision in an expression in a decision: enough is enough.
    if (this.#nested > 1) return `n > ${below(3)}`;
    this.#nested++;
    const s = this.scalar();
    const text = one([
      `${s} > ${below(7) - 3}`,
      `${s} < ${below(7) - 3}`,
      `${s} > ${this.number()}`,
      `!(${s} >= ${this.scalar()})`,
      `${s} > 0 && ${this.scalar()} < 2`,
      `${s} < 0 || n > 2`,
      'maybe',
      'maybe === null',
      "mode === 'q'",
      'held === box',
      `list.length > ${below(3)}`,
      'n % 2 === 0',
      `map.has(${this.key()})`,
      `map.size > ${below(2)}`,
      'seen.has(mode)',
      `(maybe?.sum().itemSync() ?? ${s}) < ${below(5) - 2}`,
    ]);
    this.#nested--;
    return text;
  }

  key(): string {
    return this.#choices.one(["'k'", "'l'", 'mode']);
  }

  #index(): string {
    return this.#choices.one(['0', '1', 'list.length - 1']);
  }

  #bound() {
    const choices = this.#choices;
    return {
      one: <T>(all: readonly T[]): T => choices.one(all),
      below: (limit: number): number => choices.below(limit),
    };
  }
}
