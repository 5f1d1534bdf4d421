/** Functions over tensors, as text, made from a seed: shapes are followed, so that every op takes its operands. */

import { Choices } from './choices.ts';

export interface RandomProgram {
  /** Statements over `x`, `z` (inputs), `w0` … (parameters) and `buffer`; they end in a `return`. */
  readonly body: string;
  readonly batch: number;
  readonly width: number;
  /** Shapes of the parameters. */
  readonly parameters: readonly (readonly number[])[];
  /** With backward and update; else the loss is computed from the results, outside of the function. */
  readonly isStep: boolean;
}

interface Value {
  readonly name: string;
  readonly shape: readonly number[];
}

class Writer {
  readonly #choices: Choices;
  readonly #lines: string[] = [];
  readonly #values: Value[] = [];
  readonly parameters: (readonly number[])[] = [];
  readonly batch: number;
  readonly width: number;

  constructor(choices: Choices) {
    this.#choices = choices;
    this.batch = choices.of([16, 64, 128, 256]);
    this.width = choices.of([8, 20, 32, 48]);
    this.#values.push(
      { name: 'x', shape: [this.batch, this.width] },
      { name: 'z', shape: [this.batch, this.width] },
    );
  }

  write(isStep: boolean): string {
    const count = 4 + this.#choices.below(14);
    // So that gradients flow.
    this.#linear(this.#values[0]!);
    for (let i = 0; i < count; i++) this.#statement();
    const results = [this.#pick(), this.#pick(), this.#values.at(-1)!];
    if (!isStep) {
      const [a, b] = results as [Value, Value];
      this.#lines.push(`return [${results[2]!.name}, ${a.name}.mul(1), ${b.name}.add(0)];`);
      return this.#lines.join('\n    ');
    }
    const losses = results.map((value) => `${value.name}${this.#reduced(value)}.add(w0.mean())`);
    const [first, second, third] = losses;
    const twice = this.#choices.chance(0.4);
    if (twice) {
      this.#lines.push(`const early = ${first}.mul(0.5);`);
      this.#lines.push('early.backward(null, { retainGraph: true });');
    }
    this.#lines.push(`const loss = ${second}.add(${third})${twice ? '' : `.add(${first})`};`);
    this.#lines.push('loss.backward();', this.#update());
    const shown = this.#choices.chance(0.3) ? this.#pick().name : 'loss';
    this.#lines.push(`return [loss, ${shown}.detach().mul(1)];`);
    return this.#lines.join('\n    ');
  }

  /** Every result takes part of the loss, also through views and sums in any order. */
  #reduced({ shape }: Value): string {
    const c = this.#choices;
    const dim = c.below(Math.max(1, shape.length));
    if (shape.length === 0) return '.mul(1)';
    return c.of([
      '.mean()',
      '.sum().mul(0.01)',
      `.sum(${dim}).tanh().sum()`,
      `.mul(${c.of(['0.3', '-1.5'])}).mean(${dim}).mean()`,
      '.transpose(0, -1).mean(0).sum()',
      '.flatten().mul(0.1).mean()',
    ]);
  }

  #update(): string {
    return this.#choices.of([
      'optimizer.step(); optimizer.zeroGrad();',
      'optimizer.step(); optimizer.zeroGrad();',
      'noGrad(() => { for (const w of ws) if (w.grad) w.sub_(w.grad.mul(0.1)); }); for (const w of ws) w.grad = null;',
      'optimizer.step();',
    ]);
  }

  /** Name of the new value; undefined where the op chosen doesn't fit. */
  #statement(): string | undefined {
    const c = this.#choices;
    const v = this.#pick();
    const [n, ...rest] = v.shape;
    const dim = c.below(Math.max(1, v.shape.length));
    switch (c.below(20)) {
      case 0:
      case 1:
        return v.shape.length >= 2 && rest.at(-1)! > 1 ? this.#linear(v) : undefined;
      case 2:
        return this.#define(
          `${v.name}.${c.of(['tanh', 'relu', 'sigmoid', 'exp().mul(0.1).tanh', 'abs'])}()`,
          v.shape,
        );
      case 3: {
        const same = this.#values.filter(({ shape }) => shape.join() === v.shape.join());
        return this.#define(
          `${v.name}.${c.of(['add', 'mul', 'sub', 'maximum'])}(${c.of(same).name})`,
          v.shape,
        );
      }
      case 4:
        if (v.shape.length < 2) return undefined;
        return this.#define(`${v.name}.transpose(0, 1)`, [v.shape[1]!, n!, ...v.shape.slice(2)]);
      case 5: {
        const size = v.shape[dim] ?? 1;
        if (size % 2 > 0 || size < 4) return undefined;
        const [start, length] = [c.of([0, size / 2, 1]), size / 2];
        const at = Math.min(start, size - length);
        return this.#define(
          `${v.name}.narrow(${dim}, ${at}, ${length})`,
          v.shape.map((own, d) => (d === dim ? length : own)),
        );
      }
      case 6: {
        const same = this.#values.filter(({ shape }) => shape.join() === v.shape.join());
        const other = c.of(same);
        if (v.shape.length === 0 || v.shape[dim]! > 300) return undefined;
        const shape = v.shape.map((own, d) => (d === dim ? 2 * own : own));
        return this.#define(`cat([${v.name}, ${other.name}], ${dim})`, shape);
      }
      case 7:
        if (v.shape.length === 0) return undefined;
        return this.#define(`${v.name}.sub(${v.name}.mean(${dim}, { keepDim: true }))`, v.shape);
      case 8:
        if (v.shape.length === 0) return undefined;
        return this.#define(`softmax(${v.name}, ${dim}).mul(${v.name})`, v.shape);
      case 9: {
        if (v.shape.length < 2 || n! % 4 > 0) return undefined;
        return this.#define(`${v.name}.reshape([4, ${n! / 4}, ${rest.join(', ')}])`, [
          4,
          n! / 4,
          ...rest,
        ]);
      }
      case 10:
        if (v.shape.length < 3) return undefined;
        return this.#define(
          `${v.name}.reshape([${n! * v.shape[1]!}, ${v.shape.slice(2).join(', ')}])`,
          [n! * v.shape[1]!, ...v.shape.slice(2)],
        );
      case 11: {
        const vector = this.#parameter([v.shape.at(-1) ?? 1]);
        if (v.shape.length === 0) return undefined;
        return this.#define(`${v.name}.${c.of(['add', 'mul'])}(${vector})`, v.shape);
      }
      case 12:
        return this.#define(
          `where(${v.name}.gt(${c.of(['0', '0.2'])}), ${v.name}, ${v.name}.mul(0.1))`,
          v.shape,
        );
      case 13:
        return this.#define(
          `cast(cast(${v.name}, '${c.of(['float64', 'bfloat16', 'float16'])}').mul(1.5), 'float32')`,
          v.shape,
        );
      case 14: {
        const copy = this.#define(`${v.name}.mul(1.25)`, v.shape);
        const size = v.shape[0] ?? 0;
        const part = size > 3 && c.chance(0.6) ? `.narrow(0, 1, ${size - 2})` : '';
        this.#lines.push(
          `${copy}${part}.${c.of(['add_(0.5)', 'mul_(0.5)', `copy_(${v.name}${part})`])};`,
        );
        return undefined;
      }
      case 15:
        this.#lines.push(`noGrad(() => { buffer.mul_(0.9).add_(${v.name}.mean().mul(0.1)); });`);
        return undefined;
      case 16:
        return this.#define(`dropout(${v.name}, 0.2)`, v.shape);
      case 17:
        return this.#define(
          `checkpoint((t) => t.mul(1.1).tanh().mul(t.sigmoid()), ${v.name})`,
          v.shape,
        );
      case 18:
        if (v.shape.length === 0) return undefined;
        return this.#define(`${v.name}.cumsum(${dim}).mul(0.1).tanh()`, v.shape);
      default:
        if (v.shape.length < 2) return undefined;
        return this.#define(
          `${v.name}.sum(${dim}, { keepDim: true }).mul(0.01).expand([${v.shape.join(', ')}]).add(${v.name})`,
          v.shape,
        );
    }
  }

  #linear({ name, shape }: Value): string {
    const width = this.#choices.of([8, 20, 32, 48]);
    const weight = this.#parameter([width, shape.at(-1)!]);
    return this.#define(`${name}.matmul(${weight}.transpose(0, 1))`, [
      ...shape.slice(0, -1),
      width,
    ]);
  }

  #parameter(shape: readonly number[]): string {
    return `w${this.parameters.push(shape) - 1}`;
  }

  #define(text: string, shape: readonly number[]): string {
    const name = `t${this.#values.length}`;
    this.#lines.push(`const ${name} = ${text};`);
    this.#values.push({ name, shape });
    return name;
  }

  /** Mostly something new. */
  #pick(): Value {
    const { length } = this.#values;
    const from = this.#choices.chance(0.6) ? Math.max(0, length - 3) : 0;
    return this.#values[from + this.#choices.below(length - from)]!;
  }
}

export function randomProgram(seed: number): RandomProgram {
  const choices = new Choices(seed);
  const writer = new Writer(choices);
  const isStep = choices.chance(0.7);
  const body = writer.write(isStep);
  const { parameters, batch, width } = writer;
  return { body, parameters, batch, width, isStep };
}

/** Text of a function body: `new Function('lib', 'world', text)` returns the function. */
export function functionText({ body, parameters }: RandomProgram): string {
  const names = parameters.map((_, i) => `w${i}`);
  return `'use strict';
  const { cat, softmax, where, cast, noGrad, dropout, checkpoint } = lib;
  const { ws, buffer, optimizer } = world;
  const [${names.join(', ')}] = ws;
  return (x, z) => {
    ${body}
  };`;
}
