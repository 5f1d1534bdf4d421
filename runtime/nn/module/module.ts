import { noGrad } from '../../autograd/grad-mode.ts';
import type { HookHandle } from '../../backward/hooks.ts';
import { defineAbsent, defineSnakeCase } from '../../errors/absent-names.ts';
import { ArgumentError } from '../../errors/errors.ts';
import { expectFunction } from '../../options/expect-arguments.ts';
import { expectNoMore, shown } from '../../options/expect-options.ts';
import { type DType, dtypes } from '../../spec/dtype.ts';
import type { Tensor } from '../../tensor/tensor.ts';
import type { TransferTarget } from '../../tensor-methods/transfer.ts';
import { absentModuleMethods } from './absent-methods.ts';
import { isModule } from './is-module.ts';
import {
  addHook,
  type BackwardHook,
  type ForwardHook,
  type ForwardPreHook,
} from './module-hooks.ts';
import { type LoadOptions, type LoadResult, loadInto, type StateDict } from './module-state.ts';
import { moduleText } from './module-text.ts';
import { namedModules, namedTensors, ownTensors, replaceTensors, stateOf } from './module-walk.ts';
import { isBuffer, isParameter, type Parameter, sameRole } from './parameter.ts';
import { statePlaces } from './state-places.ts';

export interface Module {
  /** Computes the module's output. Subclasses define it, except mere containers such as lists of modules. */
  forward(...inputs: never[]): unknown;
}

/**
 * Part of a model: `forward` and the tensors and modules it uses, which are found by walking the own properties,
 * including arrays. `forward` is ordinary JavaScript; the compiler inlines it from its source.
 */
// biome-ignore lint/suspicious/noUnsafeDeclarationMerging: a class without `forward` throws what `defineAbsent` says.
export class Module {
  /** Read by layers that behave differently in training. */
  training: boolean;

  /** Explicit, so that in bundled code capture finds the constructor by its probe, like any other function. */
  constructor(...surplus: []) {
    expectNoMore(new.target.name, surplus);
    this.training = true;
  }

  /** The values that are searched for tensors and modules: the own properties. */
  protected ownValues(): Iterable<[path: string, value: unknown]> {
    return Object.entries(this);
  }

  /** Yields own values by path; of arrays, the modules and the state in them, by index. */
  *ownEntries(): Generator<[path: string, value: unknown]> {
    for (const [key, value] of this.ownValues()) {
      if (!Array.isArray(value)) yield [key, value];
      else for (const i of statePlaces(value)) yield [`${key}.${i}`, value[i]];
    }
  }

  /** Yields the objects whose properties may be tensors of this module: itself and its arrays. */
  *tensorHolders(): Generator<object> {
    yield this;
    for (const value of Object.values(this)) if (Array.isArray(value)) yield value;
  }

  /**
   * Returns the name in the state for a property path: the path itself, unless the class names its children
   * differently. `Sequential` names its layers `0`, `1`, ….
   */
  stateName(path: string): string {
    return path;
  }

  /** Yields direct submodules. */
  *children(): Generator<Module> {
    for (const [, child] of this.namedChildren()) yield child;
  }

  /** Yields direct submodules with their names. */
  *namedChildren(): Generator<[name: string, child: Module]> {
    for (const [path, value] of this.ownEntries()) {
      if (isModule(value)) yield [this.stateName(path), value];
    }
  }

  /** Yields this module and its descendants, each once. */
  *modules(): Generator<Module> {
    for (const [, module] of namedModules(this)) yield module;
  }

  /** Yields this module (named '') and its descendants, each once, with their paths. */
  *namedModules(): Generator<[name: string, module: Module]> {
    yield* namedModules(this);
  }

  /** Yields all parameters, including frozen ones, each once, with names such as `layers.0.weight`. */
  *namedParameters(): Generator<[name: string, parameter: Parameter]> {
    for (const [name, tensor] of namedTensors(this)) if (isParameter(tensor)) yield [name, tensor];
  }

  /** Returns the module at a path such as `encoder.0`; this module for ''. Throws ArgumentError if there is none. */
  getSubmodule(path: string): Module {
    return entryAt(this.namedModules(), path, 'getSubmodule');
  }

  /** Returns the parameter at a path such as `layers.0.weight`. Throws ArgumentError for an unknown path. */
  getParameter(path: string): Parameter {
    return entryAt(this.namedParameters(), path, 'getParameter');
  }

  /** Returns the buffer at a path such as `norm.runningMean`. Throws ArgumentError for an unknown path. */
  getBuffer(path: string): Tensor {
    return entryAt(this.namedBuffers(), path, 'getBuffer');
  }

  parameters(): Parameter[] {
    return Array.from(this.namedParameters(), ([, tensor]) => tensor);
  }

  /** Yields the tensors marked by `buffer(…)`, each once, with their paths. */
  *namedBuffers(): Generator<[name: string, buffer: Tensor]> {
    for (const [name, tensor] of namedTensors(this)) if (isBuffer(tensor)) yield [name, tensor];
  }

  buffers(): Tensor[] {
    return Array.from(this.namedBuffers(), ([, tensor]) => tensor);
  }

  /**
   * Returns parameters and buffers by path. A shared tensor appears under each of its names. These are the module's own
   * tensors; `clone()` them for a snapshot.
   */
  stateDict(): StateDict {
    return Object.fromEntries(stateOf(this));
  }

  /** Copies values by name into the parameters and buffers; throws if names or shapes differ. */
  loadStateDict(state: StateDict, options: LoadOptions = {}): LoadResult {
    return loadInto(this.stateDict(), state, options);
  }

  /** Calls `body` with each descendant, then with this module. */
  apply(body: (module: Module) => void): this {
    expectFunction('Module.apply', body);
    for (const module of [...this.modules()].reverse()) body(module);
    return this;
  }

  /**
   * Registers a hook that runs before every `forward` and may return replacement inputs. While a module has hooks, its
   * `forward` is a wrapper around the class's own.
   */
  registerForwardPreHook(hook: ForwardPreHook): HookHandle {
    return addHook(this, 'before', hook);
  }

  /** Registers a hook that runs after `forward` and may return a replacement output. */
  registerForwardHook(hook: ForwardHook): HookHandle {
    return addHook(this, 'after', hook);
  }

  /** Registers a hook that runs when backward reaches an output of `forward` and may return a replacement gradient. */
  registerBackwardHook(hook: BackwardHook): HookHandle {
    return addHook(this, 'backward', hook);
  }

  /** PyTorch's newer name for `registerBackwardHook`. */
  registerFullBackwardHook(hook: BackwardHook): HookHandle {
    return this.registerBackwardHook(hook);
  }

  /** Sets `training` on this module and its descendants. */
  train(mode = true): this {
    if (typeof mode !== 'boolean') throw noMode(mode);
    for (const module of this.modules()) module.training = mode;
    return this;
  }

  eval(): this {
    return this.train(false);
  }

  /** Frees all gradients, so that the next backward starts new sums. */
  zeroGrad(): void {
    for (const tensor of this.parameters()) dropGrad(tensor);
  }

  /** Freezes or unfreezes every parameter of this module and its descendants. */
  requiresGrad_(requiresGrad = true): this {
    for (const tensor of this.parameters()) tensor.requiresGrad_(requiresGrad);
    return this;
  }

  /**
   * Moves every tensor to a device, or casts every floating-point tensor to a dtype. This replaces the tensors and
   * frees their gradients, so create the optimizer afterwards.
   */
  to(target: TransferTarget): this {
    const moved = new Map<Tensor, Tensor>();
    for (const module of this.modules()) {
      replaceTensors(module, (tensor) => {
        const result = moved.get(tensor) ?? movedTo(tensor, target);
        moved.set(tensor, result);
        return result;
      });
    }
    for (const [old, current] of moved) if (old !== current) release(old);
    return this;
  }

  /** Same as `to('cpu')`. */
  cpu(): this {
    return this.to('cpu');
  }

  /** Same as `to('float32')`. */
  float(): this {
    return this.to('float32');
  }

  /** Same as `to('float64')`. */
  double(): this {
    return this.to('float64');
  }

  /** Same as `to('float16')`. */
  half(): this {
    return this.to('float16');
  }

  /** Same as `to('bfloat16')`. */
  bfloat16(): this {
    return this.to('bfloat16');
  }

  /** Returns the tree of modules, one per line. */
  toString(): string {
    return moduleText(this);
  }

  /** Lets `console.log(model)` print the tree in Node. */
  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return moduleText(this);
  }

  /** Frees every tensor of this module and its descendants, with its gradient. */
  dispose(): void {
    for (const module of this.modules()) for (const tensor of ownTensors(module)) release(tensor);
  }

  [Symbol.dispose](): void {
    this.dispose();
  }
}

defineAbsent(Module.prototype, 'Module', absentModuleMethods);
defineSnakeCase(Module.prototype, 'Module');

function entryAt<T>(entries: Iterable<[name: string, value: T]>, path: string, method: string): T {
  const found = new Map(entries);
  const value = found.get(path);
  if (value !== undefined) return value;
  throw new ArgumentError({
    what: `${method}: nothing has this path`,
    given: shown(path),
    expected: `one of ${[...found.keys()].map((name) => `'${name}'`).join(', ') || 'no such name: the module has none'}`,
    remedy: 'print the module to see its tree',
  });
}

function movedTo(tensor: Tensor, target: TransferTarget): Tensor {
  const casts = typeof target === 'string' && target in dtypes;
  // Counters, masks and indices keep their dtype.
  if (casts && !(dtypes[tensor.dtype].floating && dtypes[target as DType].floating)) return tensor;
  const result = noGrad(() => tensor.to(target));
  if (result === tensor) return tensor;
  return sameRole(tensor, result).requiresGrad_(tensor.requiresGrad);
}

function dropGrad(tensor: Tensor): void {
  tensor.grad?.dispose();
  tensor.grad = null;
}

function release(tensor: Tensor): void {
  dropGrad(tensor);
  tensor.dispose();
}

function noMode(value: unknown): ArgumentError {
  return new ArgumentError({
    what: 'train: not a mode',
    given: shown(value),
    expected: 'true for training, false for evaluation',
    remedy: 'model.train() and model.eval() need no argument',
  });
}
