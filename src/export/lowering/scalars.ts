import { ArgumentError } from '../../../runtime/errors/errors.ts';
import type { ScalarTable, SymbolicNumber } from '../../../runtime/ops/numbers/symbolic-number.ts';
import { doubleFunction } from '../ops/double-functions.ts';
import type { ArithmeticTarget, TargetValue, UnaryName } from '../target/target.ts';

/** Arithmetic on JavaScript numbers, which the exported program computes itself, in float64. */
export class ScalarEmitter<V extends TargetValue> {
  readonly #to: ArithmeticTarget<V>;
  readonly #table: ScalarTable | undefined;
  readonly #inputs: readonly V[];
  readonly #known = new Map<number, V>();

  /** `inputs`: the program's number inputs, float64 []. */
  constructor(to: ArithmeticTarget<V>, table: ScalarTable | undefined, inputs: readonly V[]) {
    this.#to = to;
    this.#table = table;
    this.#inputs = inputs;
  }

  readonly read = (symbol: SymbolicNumber): V => this.#at(symbol.id);

  /** Emits all numbers at the start, where every region sees them. */
  emitAll(): void {
    this.#table?.nodes.forEach((_, id) => {
      this.#at(id);
    });
  }

  #at(id: number): V {
    const node = this.#table!.nodes[id]!;
    const known = this.#known.get(id);
    if (known) return known;
    const value =
      node.kind === 'input'
        ? this.#inputs[node.index]!
        : node.kind === 'constant'
          ? this.#to.constant(node.value, 'f64')
          : scalarCall(
              this.#to,
              node.fn,
              node.args.map((arg) => this.#at(arg)),
            );
    this.#known.set(id, value);
    return value;
  }
}

const binary = {
  '+': 'add',
  '-': 'subtract',
  '*': 'multiply',
  '/': 'divide',
  '%': 'remainder',
  '**': 'power',
  'Math.pow': 'power',
  'Math.atan2': 'atan2',
} as const;

const unary: Readonly<Record<string, UnaryName>> = {
  negate: 'negate',
  'Math.sqrt': 'sqrt',
  'Math.exp': 'exponential',
  'Math.log': 'log',
  'Math.cos': 'cosine',
  'Math.sin': 'sine',
  'Math.tanh': 'tanh',
  'Math.floor': 'floor',
  'Math.ceil': 'ceil',
  'Math.abs': 'abs',
  'Math.sign': 'sign',
  'Math.cbrt': 'cbrt',
};

const comparisons = {
  '<': 'LT',
  '<=': 'LE',
  '>': 'GT',
  '>=': 'GE',
  '===': 'EQ',
  '!==': 'NE',
} as const;

/**
 * Calls a native function on float64 []; comparisons return 1 or 0. Throws ArgumentError for a function that
 * engines lack.
 */
export function scalarCall<V extends TargetValue>(
  to: ArithmeticTarget<V>,
  fn: string,
  args: readonly V[],
): V {
  const [x, y] = args as [V, V];
  if (Object.hasOwn(binary, fn)) return to.binary(binary[fn as keyof typeof binary], x, y);
  if (Object.hasOwn(unary, fn)) return to.unary(unary[fn]!, x);
  if (Object.hasOwn(comparisons, fn)) {
    return to.convert(to.compare(comparisons[fn as keyof typeof comparisons], x, y), 'f64');
  }
  if (fn === 'Number') return x;
  if (fn === '?:') return to.select(to.compare('NE', x, to.constant(0, 'f64')), y, args[2]!);
  if (fn === 'Math.max') return args.reduce((a, b) => to.binary('maximum', a, b));
  if (fn === 'Math.min') return args.reduce((a, b) => to.binary('minimum', a, b));
  if (fn === 'Math.expm1' || fn === 'Math.log1p')
    return doubleFunction(to, fn.slice(5) as 'log1p', args);
  throw new ArgumentError({
    what: `export: no ${fn} of numbers`,
    given: `${fn} with ${args.length} numbers that change from run to run`,
    expected: [...Object.keys(binary), ...Object.keys(unary)].join(', '),
    remedy: 'compute it with these, or pass its result as an argument',
  });
}
