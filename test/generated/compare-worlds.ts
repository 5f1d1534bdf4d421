import {
  backward,
  FullGraphError,
  type MemoryChoice,
  memory,
  seed,
  Tensor,
  type ToStaticOptions,
  tidy,
  toStatic,
} from '../../src/index.ts';
import { values, type World } from '../trace/same-as-eager.ts';
import { describeError, describeValues } from '../trace/snapshot.ts';
import { layoutsOf } from './views/layouts.ts';

export interface Compared {
  /** Gradients are left to the collector. */
  readonly drops?: boolean;
  readonly memory?: MemoryChoice;
  readonly options?: ToStaticOptions;
  /** Compares strides, too, and which elements are one place in memory. */
  readonly layouts?: boolean;
}

/** `refused`: said by name, that the function can't be one program. */
export type Comparison = 'same' | 'refused';

/**
 * Runs the function of one world eagerly and that of another captured, `calls` times, and compares after every
 * call what it returned or threw and everything that it can have changed: other than `expectSameAsEager`, graphs
 * stay for later calls. Throws with the first difference. All memory must have
 * come back, unless the function `drops` gradients that only the collector finds.
 */
export function compareWorlds(
  make: () => World,
  calls: number,
  { drops = false, memory: choice, options, layouts = false }: Compared = {},
): Comparison {
  const before = memory.stats('cpu').allocated;
  const found = tidy(() => {
    const [eager, world] = [make(), make()];
    let gradientsCount = true;
    const captured = toStatic(world.fn, {
      strict: true,
      ...(choice && { memory: choice }),
      ...options,
    });
    for (let call = 0; call < calls; call++) {
      const expected = observe(eager, eager.fn, call, layouts);
      const actual = observe(world, captured, call, layouts);
      // Each program runs by its first plan once, and then by the final one.
      void captured.ready();
      if (actual.isRefused) {
        disposeState([eager, world]);
        return 'refused';
      }
      // Where a backward fails, it has reached some leaves or others before.
      gradientsCount &&= !expected.backwardFailed;
      const differs = difference(expected, actual, gradientsCount);
      if (!differs) continue;
      // A backward that throws has reached some leaves eagerly and none as a program: what follows can't be compared.
      if (expected.backwardFailed && expected.untilBackward === actual.untilBackward) break;
      const text = `call ${call}: ${differs.text}\n${captured.explain()}`;
      throw new WorldDifference(text, differs.lines, expected.text);
    }
    disposeState([eager, world]);
    return 'same';
  });
  const left = memory.stats('cpu').allocated - before;
  if (left !== 0 && !drops) throw new Error(`${left} bytes are left`);
  return found;
}

/** `compareWorlds` for async functions: gradients and intermediate tensors are left to the collector. */
export async function compareAwaitedWorlds(
  make: () => World,
  calls: number,
  { options }: Pick<Compared, 'options'> = {},
): Promise<void> {
  const [eager, world] = [make(), make()];
  const captured = toStatic(world.fn, { strict: true, ...options });
  for (let call = 0; call < calls; call++) {
    const expected = await observeAwaited(eager, eager.fn, call);
    const actual = await observeAwaited(world, captured, call);
    await captured.ready();
    const differs = difference(expected, actual, true);
    if (!differs) continue;
    const text = `call ${call}: ${differs.text}\n${captured.explain()}`;
    throw new WorldDifference(text, differs.lines, expected.text);
  }
  disposeState([eager, world]);
}

/** `expected`, `actual`: what was seen from outside, from the first line on that differs. */
export class WorldDifference extends Error {
  readonly expected: string;
  readonly actual: string;

  /** All that eager execution shows. */
  readonly eagerly: string;

  constructor(text: string, [expected, actual]: Difference['lines'], eagerly: string) {
    super(text);
    this.eagerly = eagerly;
    this.expected = expected;
    this.actual = actual;
  }
}

interface Difference {
  readonly text: string;
  readonly lines: readonly [expected: string, actual: string];
}

interface Observed {
  /** Everything to the last bit, but for the gradients. */
  readonly text: string;
  /**
   * Where a graph breaks, backward adds up the contributions of each part before it adds the parts, so sums may be
   * rounded in another way.
   */
  readonly gradients: readonly Float32Array[];
  readonly backwardFailed: boolean;
  /** Everything up to the backward, and whether that threw. */
  readonly untilBackward: string;
  readonly isRefused: boolean;
}

function observe(world: World, run: World['fn'], call: number, layouts: boolean): Observed {
  seed(call);
  const args = world.args?.(call) ?? [];
  const layout = (result: unknown) =>
    layouts ? layoutsOf([args, world.state?.(), result]) : undefined;
  let result: unknown;
  try {
    result = Reflect.apply(run, world.thisValue, args);
  } catch (error) {
    return seenAfter(error, world, args, layout(undefined));
  }
  return seen(world, args, { returned: layout(result) }, result);
}

async function observeAwaited(world: World, run: World['fn'], call: number): Promise<Observed> {
  seed(call);
  const args = world.args?.(call) ?? [];
  let result: unknown;
  try {
    result = await Reflect.apply(run, world.thisValue, args);
  } catch (error) {
    return seenAfter(error, world, args);
  }
  return seen(world, args, 'returned', result);
}

function seenAfter(
  error: unknown,
  world: World,
  args: unknown[],
  layouts?: readonly string[],
): Observed {
  const { message = '', ...rest } = describeError(error) as { readonly message?: string };
  // One program adds the user's lines to what eager execution says.
  const own = message.replace(/\n\s*(\d+ \| |called from ).*$/gm, '');
  const isRefused = error instanceof FullGraphError;
  return { ...seen(world, args, { ...rest, message: own, layouts }, undefined), isRefused };
}

function seen(world: World, args: unknown[], outcome: unknown, result: unknown): Observed {
  const after = () => describeValues([args, world.state?.(), result]);
  const forward = after();
  const roots = differentiate(result);
  const found: Float32Array[] = [];
  const takeGradient = (key: string, value: unknown): unknown => {
    // JavaScript tells no NaN from another.
    if (key === 'bits')
      return [...floats(value as string)].some(Number.isNaN)
        ? [...floats(value as string)].join()
        : value;
    if (key !== 'grad') return value;
    const { bits, ...meta } = value as { bits: string };
    found.push(floats(bits));
    return meta;
  };
  const everything = { outcome, forward, roots, backward: after() };
  return {
    text: JSON.stringify(everything, takeGradient, 1),
    gradients: found,
    backwardFailed: typeof roots === 'string',
    untilBackward: JSON.stringify({ outcome, forward, roots }),
    isRefused: false,
  };
}

/** Bytes of other dtypes are told apart as well; the last ones are filled up. */
function floats(hex: string): Float32Array {
  const bytes = Buffer.from(hex, 'hex');
  const whole = new Uint8Array(Math.ceil(bytes.length / 4) * 4);
  whole.set(bytes);
  return new Float32Array(whole.buffer);
}

function differentiate(result: unknown): number | string {
  const roots = [...tensorsOf(result)].filter((t) => !t.disposed && t.requiresGrad && !t.isLeaf);
  try {
    for (const [i, root] of roots.entries()) {
      const gradient = values([...root.shape], i + 100).to(root.dtype);
      backward(root, gradient, { retainGraph: true });
    }
    return roots.length;
  } catch (error) {
    return (error as Error).name; // of an op or of a whole program
  }
}

function* tensorsOf(value: unknown, seen = new Set<object>()): Generator<Tensor> {
  if (typeof value !== 'object' || value === null || seen.has(value)) return;
  seen.add(value);
  if (value instanceof Tensor) yield value;
  else for (const item of Object.values(value)) yield* tensorsOf(item, seen);
}

/** Gradients, parameters and what optimizers keep outlive a tidy. */
function disposeState(worlds: readonly World[]): void {
  for (const tensor of tensorsOf(worlds.map((world) => world.state?.()))) {
    if (tensor.disposed) continue;
    tensor.grad?.dispose();
    tensor.dispose();
  }
}

/** What differs, in words: the first lines with what stands around them. */
function difference(
  expected: Observed,
  actual: Observed,
  gradientsCount: boolean,
): Difference | undefined {
  if (expected.text === actual.text) {
    if (!gradientsCount) return undefined;
    const wrong = expected.gradients.findIndex((each, i) => !isClose(each, actual.gradients[i]!));
    if (wrong < 0) return undefined;
    const [own, other] = [`${actual.gradients[wrong]}`, `${expected.gradients[wrong]}`];
    return { text: `gradient ${wrong} is ${own}, not ${other}`, lines: [other, own] };
  }
  const [a, b] = [expected.text.split('\n'), actual.text.split('\n')];
  const at = a.findIndex((line, i) => line !== b[i]);
  const around = (lines: string[]) => lines.slice(Math.max(0, at - 12), at + 6).join('\n');
  const from = (lines: string[]) =>
    lines
      .slice(at, at + 4)
      .join('\n')
      .trim();
  return {
    text: `\nexpected\n${around(a)}\nactual\n${around(b)}`,
    lines: [from(a), from(b)],
  };
}

function isClose(expected: Float32Array, actual: Float32Array): boolean {
  const scale = Math.max(...expected.map(Math.abs).filter(Number.isFinite));
  return expected.every((value, i) => {
    const other = actual[i]!;
    return Object.is(value, other) || value === other || Math.abs(value - other) <= 1e-5 * scale;
  });
}
