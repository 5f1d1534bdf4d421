/** Parameters that are computed from others whenever they are read. */

import { noGrad } from '../../autograd/grad-mode.ts';
import { formatSpec } from '../../device/tensor-meta.ts';
import { ArgumentError, ShapeError } from '../../errors/errors.ts';
import { clone } from '../../ops/movement/movement.ts';
import { expectTensors } from '../../ops/record/expect-tensors.ts';
import { expectArguments } from '../../options/expect-options.ts';
import { flag, orNull, text, that } from '../../options/option-kinds.ts';
import { sameShape } from '../../spec/shape.ts';
import { Tensor } from '../../tensor/tensor.ts';
import { isModule } from '../module/is-module.ts';
import { Module } from '../module/module.ts';
import { isParameter, type Parameter, parameter } from '../module/parameter.ts';
import { ownerOf } from './weight-owner.ts';

/** Computes a parameter from another tensor of the same shape. */
export interface Parametrization extends Module {
  forward(original: Tensor): Tensor;
  /**
   * Returns the initial `original` for a parameter's current value, so that registration doesn't change the parameter.
   */
  rightInverse?(value: Tensor): Tensor;
}

const aModule = that('a module', (value) => value instanceof Module);
const kinds = { module: aModule, name: text };

/** The parametrizations of one parameter, in the order in which they are applied to `original`. */
class ParametrizationList extends Module {
  original: Parameter;
  readonly items: Parametrization[] = [];

  constructor(original: Parameter, ...surplus: []) {
    super(...surplus);
    this.original = original;
  }

  override stateName(path: string): string {
    return path.replace(/^items\./, '');
  }

  override forward(): Tensor {
    return this.items.reduce<Tensor>((value, each) => each.forward(value), this.original);
  }
}

/** The parametrized parameters of a module, by name. */
class Parametrizations extends Module {
  readonly [name: string]: unknown;
}

type Fields = Record<string, unknown> & { parametrizations?: Parametrizations };

const fieldsOf = (module: Module) => module as unknown as Fields;

function listOf(module: Module, name: string): ParametrizationList | undefined {
  const { parametrizations } = fieldsOf(module);
  if (!(parametrizations instanceof Parametrizations)) return undefined;
  const list = Object.hasOwn(parametrizations, name) ? parametrizations[name] : undefined;
  return list instanceof ParametrizationList ? list : undefined;
}

/** Whether the module's parameter, or any of its parameters, is computed. */
export function isParametrized(module: Module, name: string | null = null): boolean {
  expectArguments('isParametrized', { module, name }, { module: aModule, name: orNull(text) });
  if (name !== null) return listOf(...ownerOf(module, name)) !== undefined;
  const hasOwn = (owner: Module) => fieldsOf(owner).parametrizations instanceof Parametrizations;
  if (hasOwn(module)) return true;
  // A recurrent module names the parameters of its cells as its own.
  return [...module.ownEntries()].some(([path, child]) => {
    if (!isModule(child) || !hasOwn(child)) return false;
    return module.stateName(`${path}.parametrizations.weightIh`).startsWith('parametrizations.');
  });
}

/** Makes the property a getter for what the list computes. It is not enumerable, so that it doesn't count as state. */
function computed(module: Module, name: string, list: ParametrizationList): void {
  Object.defineProperty(module, name, { get: () => list.forward(), configurable: true });
}

/**
 * Makes the parameter `name` computed: each read runs the `forward` of `parametrization` on
 * `parametrizations.weight.original`, which replaces `weight` among the parameters. Several parametrizations apply in
 * the order of registration. Returns the module.
 */
export function registerParametrization<M extends Module>(
  owner: M,
  path: string,
  parametrization: Parametrization,
): M {
  expectArguments(
    'registerParametrization',
    { module: owner, name: path, parametrization },
    { ...kinds, parametrization: aModule },
  );
  const [module, name] = ownerOf(owner, path);
  const fields = fieldsOf(module);
  const known = listOf(module, name);
  const value = fields[name];
  if (!(value instanceof Tensor) || (!known && !isParameter(value))) {
    throw new ArgumentError({
      what: 'registerParametrization: not a parameter',
      given: `${path} of a ${owner.constructor.name}`,
      expected: 'a property that is a parameter',
      remedy: 'pass the name of the parameter, such as weight',
    });
  }
  const start = noGrad(() => (known ? value : (parametrization.rightInverse?.(value) ?? value)));
  const result = noGrad(() => parametrization.forward(start));
  expectTensors('registerParametrization', start, result);
  if (!sameShape(result.shape, value.shape) || result.dtype !== value.dtype) {
    throw new ShapeError({
      what: 'registerParametrization: the parametrization returns another shape or dtype',
      given: `${formatSpec(result)} for ${formatSpec(value)}`,
      expected: 'a tensor like the parameter',
      remedy: 'check forward() and rightInverse() of the parametrization',
    });
  }
  if (known) {
    known.items.push(parametrization);
    return owner;
  }
  const list = new ParametrizationList(
    start === value ? value : parameter(noGrad(() => clone(start))),
  );
  list.items.push(parametrization);
  fields.parametrizations ??= new Parametrizations();
  Object.assign(fields.parametrizations, { [name]: list });
  delete fields[name];
  computed(module, name, list);
  return owner;
}

/**
 * Makes a computed parameter an ordinary one again, with its current value or, without `leaveParametrized`, the value
 * of its `original`. Returns the module.
 */
export function removeParametrizations<M extends Module>(
  owner: M,
  path: string,
  leaveParametrized = true,
): M {
  expectArguments(
    'removeParametrizations',
    { module: owner, name: path, leaveParametrized },
    { ...kinds, leaveParametrized: flag },
  );
  const [module, name] = ownerOf(owner, path);
  const list = listOf(module, name);
  if (!list) {
    throw new ArgumentError({
      what: 'removeParametrizations: not a parametrized parameter',
      given: `${path} of a ${owner.constructor.name}`,
      expected: 'a name that was passed to registerParametrization()',
      remedy: 'ask isParametrized(module, name) first',
    });
  }
  const fields = fieldsOf(module);
  const value = leaveParametrized ? parameter(noGrad(() => clone(list.forward()))) : list.original;
  Object.defineProperty(module, name, {
    value,
    configurable: true,
    enumerable: true,
    writable: true,
  });
  Reflect.deleteProperty(fields.parametrizations!, name);
  const rest = Object.values(fields.parametrizations!).some((each) => each instanceof Module);
  if (!rest) delete fields.parametrizations;
  return owner;
}
