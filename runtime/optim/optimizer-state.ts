import { noGrad } from '../autograd/grad-mode.ts';
import { formatSpec } from '../device/tensor-meta.ts';
import { ArgumentError, ShapeError } from '../errors/errors.ts';
import { copy_ } from '../ops/in-place/in-place.ts';
import { shown } from '../options/expect-options.ts';
import { sameShape } from '../spec/shape.ts';
import type { Tensor } from '../tensor/tensor.ts';

/** The options of a parameter group: `lr`, `weightDecay` and the optimizer's own. */
export type GroupState = Readonly<
  Record<string, number | boolean | string | null | undefined | readonly number[]>
>;

/** An optimizer's state without its parameters: plain data and tensors, which `save` accepts. */
export type OptimizerState = {
  readonly groups: readonly GroupState[];
  /** The number of steps taken, per parameter. */
  readonly counts: readonly number[];
  /** State tensors by name (such as `averages`), one per parameter. */
  readonly state: Readonly<Record<string, readonly Tensor[]>>;
};

/** Copies the tensors. If any entry doesn't fit, copies nothing. */
export function loadState(current: OptimizerState, loaded: OptimizerState): void {
  expectState(loaded);
  expectEqual('parameter groups', current.groups.length, loaded.groups.length);
  expectEqual('parameters', current.counts.length, loaded.counts.length);
  expectEqual('kinds of state', kinds(current), kinds(loaded));
  const pairs = Object.entries(current.state).flatMap(([name, tensors]) => {
    expectEqual(`tensors of ${name}`, tensors.length, loaded.state[name]!.length);
    return tensors.map((tensor, i) => [name, tensor, loaded.state[name]![i]!] as const);
  });
  for (const [name, tensor, source] of pairs) {
    if (sameShape(tensor.shape, source.shape)) continue;
    throw new ShapeError({
      what: `loadStateDict: ${name} of another shape`,
      given: formatSpec(source),
      expected: formatSpec(tensor),
      remedy: 'load the state of an optimizer of the same parameters, in the same order',
    });
  }
  noGrad(() => {
    for (const [, tensor, source] of pairs) copy_(tensor, source);
  });
}

function kinds({ state }: OptimizerState): string {
  return Object.keys(state).sort().join(', ') || 'none';
}

function expectEqual(what: string, current: number | string, loaded: number | string): void {
  if (current === loaded) return;
  throw new ArgumentError({
    what: `loadStateDict: other ${what}`,
    given: `${what}: ${loaded}`,
    expected: `${what}: ${current}`,
    remedy: 'load the state of an optimizer of the same kind, options and parameters',
  });
}

/** Throws ArgumentError unless the value has the form that an optimizer's `stateDict()` returns. */
export function expectState(state: OptimizerState): void {
  if (!Array.isArray((state as Partial<OptimizerState> | null | undefined)?.groups)) {
    throw new ArgumentError({
      what: 'loadStateDict: not a state of an optimizer',
      given: shown(state),
      expected: 'an object with groups, counts and state',
      remedy: 'pass what stateDict() of an optimizer returned',
    });
  }
}
