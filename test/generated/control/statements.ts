import { Expressions } from './expressions.ts';
import { around, type Choices, line, type Node } from './tree.ts';

interface Place {
  readonly depth: number;
  /** Inside a loop, so that it may be left or continued. */
  readonly looped: boolean;
  /** Inside a `switch`, which `break` leaves. */
  readonly switched: boolean;
  /** Inside a `try`. */
  readonly guarded: boolean;
  /** Labels of the loops around. */
  readonly labels: readonly string[];
}

/** Where the body of a function begins. */
export const outermost: Place = {
  depth: 0,
  looped: false,
  switched: false,
  guarded: false,
  labels: [],
};

/** What the function answers; `first` instead of `a`. */
export const result = (first: string): string =>
  `[${first}, b, n, m, maybe, mode, box, other, held === box, list.length, list.at(-1) ?? x, map.get('k') ?? a, map.size, seen.size, cell.h, cell.count, f(x)]`;

/** Statements over the variables of a program. */
export class Statements {
  readonly #choices: Choices;
  readonly #values: Expressions;

  /** `calls`: with numbers that each run calls for. */
  constructor(choices: Choices, calls: boolean) {
    this.#choices = choices;
    this.#values = new Expressions(choices, calls);
  }

  block(place: Place): readonly Node[] {
    return Array.from({ length: 1 + this.#choices.below(2) }, () => this.statement(place));
  }

  statement(place: Place): Node {
    const kinds = place.depth < 2 ? 27 : 13;
    const kind = this.#choices.below(kinds);
    if (kind < 9) return this.#assignment(place);
    if (kind === 9) return this.#jump(place);
    if (kind === 10) return line(`if (${this.#values.test()}) return ${result(this.#tensor())};`);
    if (kind === 11) return this.#state();
    if (kind === 12) return this.#effect();
    return this.#compound(kind - 13, place);
  }

  #tensor(): string {
    return this.#values.tensor();
  }

  #assignment(place: Place): Node {
    const values = this.#values;
    const { one, below } = this.#bound();
    const t = one(['a', 'b', 'box.h', 'held.h']);
    return line(
      one<() => string>([
        () => `${t} = ${this.#tensor()};`,
        () => `${t} = ${this.#tensor()};`,
        () => `${t} = ${this.#tensor()};`,
        () => `${t} = ${this.#tensor()};`,
        () => `n = Math.trunc(${values.scalar()}) % 7;`,
        () => `m += ${values.number()};`,
        () => `${one(['n', 'm', 'box.k', 'held.k'])} = ${values.number()};`,
        () => `maybe = ${one(['null', this.#tensor()])};`,
        () => `maybe ${one(['??=', '||=', '&&='])} ${this.#tensor()};`,
        () => `mode = '${one(['p', 'q'])}';`,
        () => `held = ${one(['box', 'other'])};`,
        () => (place.looped ? 'n++;' : `list.push(${this.#tensor()});`),
        () => (place.looped ? 'm = n;' : 'if (list.length > 1) list.pop();'),
        () => `f = (y) => y.${one(['mul(1.3)', 'add(n)', 'sub(m)', 'mul(box.h)'])};`,
        () =>
          place.guarded
            ? 'n--;'
            : `if (${values.test()}) throw new RangeError(mode + '${below(9)}');`,
      ])(),
    );
  }

  /** Of structures, closures and collections. */
  #state(): Node {
    const values = this.#values;
    const { one } = this.#bound();
    return line(
      one<() => string>([
        () => `[a, b] = [b, ${values.name()}];`,
        () => `({ h: b, k: m = 2 } = ${one(['box', 'other', 'held'])});`,
        () => `{ const { h, ...rest } = held; a = h.add(rest.k); }`,
        () => `map.set(${values.key()}, ${this.#tensor()});`,
        () => `map.delete(${values.key()});`,
        () => `seen.add(mode);`,
        () => `bump(${values.number()});`,
        () => `cell.step(${values.number()});`,
        () => `held = { ...held, k: ${values.number()} };`,
      ])(),
    );
  }

  /** Of what is seen from outside: memory, lines, gradients, random numbers. */
  #effect(): Node {
    const values = this.#values;
    const { one, below } = this.#bound();
    const y = this.#choices.name('y');
    return line(
      one<() => string>([
        () =>
          `buffer.${one(['add_(1)', 'mul_(0.7)', `sub_(${values.number()})`, 'neg_()', 'zero_()'])};`,
        () => `buffer.copy_(${values.name()}.detach());`,
        () =>
          `buffer.select(0, ${below(2)}).${one(['add_(2)', `add_(${values.name()}.detach().mean())`])};`,
        () => `console.log('line', ${one(['mode', 'n', values.scalar()])});`,
        () => `b = dropout(${values.name()}, 0.5);`,
        () => `const ${y} = ${values.name()}.mul(1); ${y}.mul_(0.7); a = ${y}.add(a);`,
        () => `train(${values.name()});`,
        () => `w.grad = null;`,
      ])(),
    );
  }

  #jump({ looped, switched, labels }: Place): Node {
    const { one } = this.#bound();
    const plain = looped ? [...(switched ? [] : ['break']), 'continue'] : [];
    const all = [...plain, ...labels.flatMap((at) => [`break ${at}`, `continue ${at}`])];
    if (all.length === 0) return this.#state();
    return line(`if (${this.#values.test()}) ${one(all)};`);
  }

  #compound(kind: number, place: Place): Node {
    const deeper = { ...place, depth: place.depth + 1 };
    const test = () => this.#values.test();
    switch (kind) {
      case 0:
      case 1:
        return around(`if (${test()})`, [this.block(deeper)]);
      case 2:
      case 3:
        return around(`if (${test()})`, [this.block(deeper), this.block(deeper)]);
      case 4:
        return this.#switch(deeper);
      case 5:
        return this.#try(deeper);
      default:
        return this.#loop(kind % 8, deeper);
    }
  }

  #switch(place: Place): Node {
    const { one } = this.#bound();
    const what = one([
      `Math.trunc(${this.#values.scalar()}) % 3`,
      'n % 3',
      'mode',
      `Math.sign(${this.#values.scalar()})`,
    ]);
    const [first, second] =
      what === 'mode'
        ? ["'p'", "'q'"]
        : one([
            ['0', '1'],
            ['-1', '1'],
          ]);
    const inside = { ...place, switched: true };
    const way = (label: string) =>
      around(`${label}:`, [this.block(inside)], { close: `} ${one(['break;', ''])}` });
    const others = this.#choices.below(2) === 0 ? [way('default')] : [];
    return around(`switch (${what})`, [[way(`case ${first}`), way(`case ${second}`), ...others]]);
  }

  #try(place: Place): Node {
    const { one, below } = this.#bound();
    const ending = [line(this.#assignment({ ...place, guarded: true, looped: true }).open)];
    switch (below(3)) {
      case 0:
        return around('try', [this.block({ ...place, guarded: true }), ending], {
          between: '} finally {',
        });
      case 1: {
        const thrown = line(`if (${this.#values.test()}) throw new TypeError('inner');`);
        const body = [...this.block({ ...place, guarded: true }), thrown];
        return around('try', [body, ending], {
          between: `} catch (error) { mode = ${one(["'q'", 'error.message[0]'])};`,
        });
      }
      default: {
        const thrown = line(`if (n > ${below(3)}) throw new TypeError('of ' + n);`);
        const body = [...this.block({ ...place, guarded: true }), thrown];
        return around('try', [body], { close: '} catch { n = 0; } finally { m++; }' });
      }
    }
  }

  #loop(kind: number, place: Place): Node {
    const { one, below } = this.#bound();
    const i = this.#choices.name('i');
    const label = `l${i}`;
    const inside = { ...place, looped: true, switched: false, labels: [...place.labels, label] };
    const values = this.#values;
    const body = () => [this.block(inside)];
    switch (kind) {
      case 0:
      case 1:
        return {
          ...around(`let ${i} = 0;\n${label}: while (${values.test()})`, body()),
          open: `let ${i} = 0;\n${label}: while (${values.test()}) {\nif (++${i} > ${1 + below(4)}) break;\n`,
        };
      case 2:
        return around(`let ${i} = 0;\n${label}: do`, body(), {
          close: `} while (++${i} < ${1 + below(3)} && (${values.test()}));`,
        });
      case 3: {
        const row = `a = a.add(${i}).mul(0.6);`;
        return around(`${label}: for (const ${i} of rows)`, [[line(row), ...this.block(inside)]]);
      }
      case 4: {
        const use = one([`a = a.mul(${i} + 0.3);`, `m += ${i};`]);
        const range = one(['[0, 1]', '[2, 0, 1]', 'Array.from({ length: 2 }, (_, at) => at)']);
        return around(`${label}: for (const ${i} of ${range})`, [
          [line(use), ...this.block(inside)],
        ]);
      }
      case 5:
        return around(`${label}: for (const [${i}, each${i}] of [...list].entries())`, [
          [line(`if (${i} < 3) b = b.add(each${i}).mul(0.4);`), ...this.block(inside)],
        ]);
      case 6: {
        const use = one([`list.push(${values.tensor()});`, 'if (list.length > 1) list.pop();']);
        return around(`${label}: for (let ${i} = 0; ${i} < 3; ${i}++)`, [
          [line(`if (${values.test()}) break;`), line(use)],
        ]);
      }
      default:
        return around(`${label}: for (let ${i} = 0; ${i} < ${1 + below(3)}; ${i}++)`, body());
    }
  }

  #bound() {
    const choices = this.#choices;
    return {
      one: <T>(all: readonly T[]): T => choices.one(all),
      below: (limit: number): number => choices.below(limit),
    };
  }
}
