import type { HookHandle } from '../../backward/hooks.ts';
import { ArgumentError } from '../../errors/errors.ts';
import { expectFunction } from '../../options/expect-arguments.ts';
import { shown } from '../../options/expect-options.ts';
import { tensorsIn } from '../../tensor/lifetime.ts';
import type { Tensor } from '../../tensor/tensor.ts';
import type { Module } from './module.ts';

/** Runs before `forward`; may return replacement inputs. */
export type ForwardPreHook = (
  module: Module,
  inputs: readonly unknown[],
) => readonly unknown[] | null | undefined;
/** Runs after `forward`; may return a replacement output. */
export type ForwardHook = (module: Module, inputs: readonly unknown[], output: unknown) => unknown;
/** Runs when backward reaches an output of `forward`; may return a replacement gradient. */
export type BackwardHook = (module: Module, gradOutput: Tensor) => Tensor | null | undefined;

type Forward = (...inputs: unknown[]) => unknown;

/** The hooks of one module; while there are any, its `forward` is a wrapper that runs them. */
class ModuleHooks {
  readonly before = new Set<{ readonly run: ForwardPreHook }>();
  readonly after = new Set<{ readonly run: ForwardHook }>();
  readonly backward = new Set<{ readonly run: BackwardHook }>();
  readonly #module: Module;
  readonly #own: PropertyDescriptor | undefined;

  constructor(module: Module) {
    this.#module = module;
    this.#own = Object.getOwnPropertyDescriptor(module, 'forward');
    const forward = module.forward as Forward;
    Object.defineProperty(module, 'forward', {
      value: (...inputs: unknown[]) => this.run(forward, inputs),
      configurable: true,
      writable: true,
    });
  }

  get empty(): boolean {
    return this.before.size + this.after.size + this.backward.size === 0;
  }

  /** Restores the original `forward`. */
  restore(): void {
    if (this.#own) Object.defineProperty(this.#module, 'forward', this.#own);
    else Reflect.deleteProperty(this.#module, 'forward');
  }

  run(forward: Forward, args: readonly unknown[]): unknown {
    const module = this.#module;
    let inputs = args;
    for (const { run } of [...this.before]) {
      const changed = run(module, inputs) ?? inputs;
      if (!Array.isArray(changed)) throw wrongResult(changed, 'an array of inputs');
      inputs = changed;
    }
    let output = forward.apply(module, [...inputs]);
    for (const { run } of [...this.after]) {
      const changed = run(module, inputs, output);
      if (changed instanceof Promise) throw wrongResult(changed, 'another output');
      output = changed ?? output;
    }
    for (const { run } of [...this.backward]) {
      for (const tensor of tensorsIn(output)) {
        if (tensor.requiresGrad) tensor.registerHook((gradient) => run(module, gradient));
      }
    }
    return output;
  }
}

function wrongResult(value: unknown, expected: string): ArgumentError {
  return new ArgumentError({
    what: 'a hook of a module returned a wrong value',
    given: shown(value),
    expected: `${expected}, or nothing`,
    remedy: 'check what the hook returns: forward waits for no promise',
  });
}

const hooksOf = new WeakMap<Module, ModuleHooks>();

type HookSets = Pick<ModuleHooks, 'before' | 'after' | 'backward'>;
type RunOf<K extends keyof HookSets> =
  HookSets[K] extends Set<{ readonly run: infer R }> ? R : never;

/** Calls a method of the module that takes the place of its `forward`, with the hooks of the module. */
export function throughHooks<Inputs extends unknown[], Output>(
  module: Module,
  method: (...inputs: Inputs) => Output,
  inputs: Inputs,
): Output {
  const hooks = hooksOf.get(module);
  return hooks ? (hooks.run(method as Forward, inputs) as Output) : method(...inputs);
}

/** Adds a hook and returns a handle that removes it. */
export function addHook<K extends keyof HookSets>(
  module: Module,
  kind: K,
  run: RunOf<K>,
): HookHandle {
  expectFunction('a hook of a module', run);
  const hooks = hooksOf.get(module) ?? new ModuleHooks(module);
  hooksOf.set(module, hooks);
  const set = hooks[kind] as Set<{ readonly run: RunOf<K> }>;
  const entry = { run };
  set.add(entry);
  return {
    remove: () => {
      if (!set.delete(entry) || !hooks.empty) return;
      hooks.restore();
      hooksOf.delete(module);
    },
  };
}
