import { noGrad } from '../autograd/grad-mode.ts';
import type { HookHandle } from '../autograd/hooks.ts';
import type { Device } from '../device/device.ts';
import { Tensor } from '../tensor/tensor.ts';
import {
  addHook,
  type BackwardHook,
  type ForwardHook,
  type ForwardPreHook,
} from './module-hooks.ts';
import { type LoadOptions, type LoadResult, loadInto, type StateDict } from './module-state.ts';
import { isBuffer, isState, type Parameter, sameRole } from './parameter.ts';

/**
 * Part of a model: `forward` and the tensors and modules that it uses, which are found by walking the
 * own properties (also in arrays). `forward` is ordinary JavaScript: compiling inlines it by its source.
 */
export abstract class Module {
  /** For layers that act differently while training. */
  training = true;

  abstract forward(...inputs: never[]): unknown;

  /** What is searched for tensors and modules: the own properties. */
  protected ownValues(): Iterable<[path: string, value: unknown]> {
    return Object.entries(this);
  }

  /** Own tensors and modules by path; those in arrays by index. */
  *ownEntries(): Generator<[path: string, value: unknown]> {
    for (const [key, value] of this.ownValues()) {
      if (!Array.isArray(value)) yield [key, value];
      else for (const [i, item] of value.entries()) yield [`${key}.${i}`, item];
    }
  }

  /** Direct submodules. */
  *children(): Generator<Module> {
    for (const [, value] of this.ownEntries()) if (value instanceof Module) yield value;
  }

  /** This module and all below it, each once. */
  *modules(seen = new Set<Module>()): Generator<Module> {
    if (seen.has(this)) return;
    seen.add(this);
    yield this;
    for (const child of this.children()) yield* child.modules(seen);
  }

  /** Leaves that require a gradient, each once, with their paths: `layers.0.weight`. */
  *namedParameters(): Generator<[name: string, parameter: Parameter]> {
    for (const [name, tensor] of namedTensors(this)) {
      if (tensor.requiresGrad && tensor.isLeaf) yield [name, tensor];
    }
  }

  parameters(): Parameter[] {
    return Array.from(this.namedParameters(), ([, tensor]) => tensor);
  }

  /** Tensors marked by `buffer(…)`, each once, with their paths. */
  *namedBuffers(): Generator<[name: string, buffer: Tensor]> {
    for (const [name, tensor] of namedTensors(this)) if (isBuffer(tensor)) yield [name, tensor];
  }

  buffers(): Tensor[] {
    return Array.from(this.namedBuffers(), ([, tensor]) => tensor);
  }

  /**
   * Parameters and buffers by path. A shared tensor is under each of its names. The tensors are the
   * module's own: `clone()` them to keep a moment.
   */
  stateDict(): StateDict {
    return Object.fromEntries(stateOf(this, '', new Set()));
  }

  /** Copies values by name into the parameters and buffers; throws for other names and shapes. */
  loadStateDict(state: StateDict, options: LoadOptions = {}): LoadResult {
    return loadInto(this.stateDict(), state, options);
  }

  /** Calls `body` with every module below, then with this one. */
  apply(body: (module: Module) => void): this {
    for (const module of [...this.modules()].reverse()) body(module);
    return this;
  }

  /**
   * Runs in every `forward` of this module before it, and may answer other inputs. While a module has
   * hooks, its `forward` is a wrapper; without, it is the class's own.
   */
  registerForwardPreHook(hook: ForwardPreHook): HookHandle {
    return addHook(this, 'before', hook);
  }

  /** Runs after `forward`, and may answer another output. */
  registerForwardHook(hook: ForwardHook): HookHandle {
    return addHook(this, 'after', hook);
  }

  /** Runs when backward reaches an output of `forward`, and may answer another gradient. */
  registerBackwardHook(hook: BackwardHook): HookHandle {
    return addHook(this, 'backward', hook);
  }

  /** Sets `training` here and in all modules below. */
  train(mode = true): this {
    for (const module of this.modules()) module.training = mode;
    return this;
  }

  eval(): this {
    return this.train(false);
  }

  /** Gives the gradients back; the next backward starts from none. */
  zeroGrad(): void {
    for (const tensor of this.parameters()) dropGrad(tensor);
  }

  /**
   * Moves every tensor to the device. The properties hold new tensors afterwards: make the optimizer
   * after the move. Gradients are given back.
   */
  to(device: Device | string): this {
    const moved = new Map<Tensor, Tensor>();
    for (const module of this.modules()) {
      replaceTensors(module, (tensor) => {
        const result = moved.get(tensor) ?? movedTo(tensor, device);
        moved.set(tensor, result);
        return result;
      });
    }
    for (const [old, current] of moved) if (old !== current) release(old);
    return this;
  }

  /** Gives back the memory of every tensor below, with its gradient. */
  dispose(): void {
    for (const [, tensor] of namedTensors(this)) release(tensor);
  }

  [Symbol.dispose](): void {
    this.dispose();
  }
}

function* namedTensors(
  module: Module,
  prefix = '',
  seen = new Set<object>(),
): Generator<[name: string, tensor: Tensor]> {
  seen.add(module);
  for (const [path, value] of module.ownEntries()) {
    if (value instanceof Tensor && !seen.has(value)) {
      seen.add(value);
      yield [prefix + path, value];
    } else if (value instanceof Module && !seen.has(value)) {
      yield* namedTensors(value, `${prefix + path}.`, seen);
    }
  }
}

/** Also what was seen before: a saved file has shared tensors under all names. */
function* stateOf(
  module: Module,
  prefix: string,
  above: ReadonlySet<Module>,
): Generator<[name: string, tensor: Tensor]> {
  if (above.has(module)) return;
  const path = new Set([...above, module]);
  for (const [key, value] of module.ownEntries()) {
    if (value instanceof Tensor && isState(value)) yield [prefix + key, value];
    else if (value instanceof Module) yield* stateOf(value, `${prefix + key}.`, path);
  }
}

function replaceTensors(module: Module, replace: (tensor: Tensor) => Tensor): void {
  for (const [key, value] of Object.entries(module)) {
    if (value instanceof Tensor) Object.assign(module, { [key]: replace(value) });
    if (!Array.isArray(value)) continue;
    for (const [i, item] of value.entries()) if (item instanceof Tensor) value[i] = replace(item);
  }
}

function movedTo(tensor: Tensor, device: Device | string): Tensor {
  const result = noGrad(() => tensor.to(device));
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
