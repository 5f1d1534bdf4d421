import { ArgumentError } from '../../errors/errors.ts';
import { expectTensors } from '../../ops/record/expect-tensors.ts';
import { asyncGiven } from '../../options/expect-arguments.ts';
import { expectArguments } from '../../options/expect-options.ts';
import { isAsync } from '../../options/is-async.ts';
import { anObject, that } from '../../options/option-kinds.ts';
import { Tensor } from '../../tensor/tensor.ts';
import { Module } from './module.ts';

const kinds = { module: that('a module', (value) => value instanceof Module), tensors: anObject };

/**
 * Calls `forward` with some of the module's tensors replaced, by their names in `namedParameters()` and
 * `namedBuffers()`, and restores the originals afterwards. A shared tensor is replaced wherever the module uses it.
 * `args` are the arguments of `forward`: an array, or a single argument.
 */
export function functionalCall<M extends Module>(
  module: M,
  tensors: Readonly<Record<string, Tensor>>,
  args: unknown = [],
): ReturnType<M['forward']> {
  expectArguments('functionalCall', { module, tensors }, kinds);
  if (isAsync(module.forward))
    throw asyncGiven('functionalCall', 'functionalCall(model, params, [x])');
  const named = new Map<string, Tensor>([...module.namedParameters(), ...module.namedBuffers()]);
  const others = new Map<Tensor, Tensor>();
  for (const [name, tensor] of Object.entries(tensors)) {
    const replaced = named.get(name);
    if (!replaced) {
      throw new ArgumentError({
        what: 'functionalCall: no such tensor of the module',
        given: name,
        expected: [...named.keys()].join(', '),
        remedy: 'pass names as namedParameters() has them',
      });
    }
    expectTensors('functionalCall', tensor);
    others.set(replaced, tensor);
  }
  const places: [holder: object, key: string, before: Tensor][] = [];
  for (const part of module.modules()) {
    for (const holder of part.tensorHolders()) {
      for (const [key, value] of Object.entries(holder)) {
        if (value instanceof Tensor && others.has(value)) places.push([holder, key, value]);
      }
    }
  }
  const put = (holder: object, key: string, tensor: Tensor) =>
    Object.assign(holder, { [key]: tensor });
  try {
    for (const [holder, key, before] of places) put(holder, key, others.get(before)!);
    const forward = module.forward.bind(module) as (
      ...inputs: readonly unknown[]
    ) => ReturnType<M['forward']>;
    return forward(...(Array.isArray(args) ? args : [args]));
  } finally {
    for (const [holder, key, before] of places) put(holder, key, before);
  }
}
