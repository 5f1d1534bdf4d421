import { assertNever, InvariantError } from '../../../runtime/errors/invariant.ts';
import { mapText } from '../../../runtime/program/number-text.ts';
import type { Tensor } from '../../../runtime/tensor/tensor.ts';
import type {
  Effect,
  EntryRecipe,
  FrameRecipe,
  KeyOrder,
  Make,
  Recipe,
} from '../../traces/trace-result.ts';
import { needsArguments } from '../../vm/bytecode/call-inputs.ts';
import { uninitialized } from '../../vm/bytecode/frame.ts';
import type { Pc, Reg } from '../../vm/bytecode/instructions.ts';
import { liveBefore, liveDuring } from '../../vm/bytecode/liveness.ts';
import {
  requiresGradAlways,
  requiresGradFlag,
  withoutGraph,
} from '../control-flow/merge/requires-grad.ts';
import { asNumber } from '../control-flow/numbers/scalars.ts';
import { type KeyedVariable, labelOf } from '../heap/key-order.ts';
import { expectNotPassed } from '../heap/passed-functions.ts';
import type { Tracer } from '../state/tracer.ts';
import { expectNoPrivate, expectNoPrivateFields } from '../values/objects/private-names.ts';
import { argumentsOf, type TraceFrame } from '../variables/trace-frame.ts';
import { resolved } from '../variables/unions.ts';
import {
  absent,
  hole,
  type NewCollectionVariable,
  type TensorVariable,
  type Variable,
} from '../variables/variable.ts';
import { makeOf } from './make-recipes.ts';
import { ProgramOutputs } from './program-outputs.ts';

/**
 * Turns variables into recipes that produce the same values after a run of the graph. Each object has a single recipe
 * for all paths to it, so that identities and cycles are preserved.
 */
export class Reconstruction {
  readonly makes: Make[] = [];
  readonly outputs: ProgramOutputs;
  readonly tracer: Tracer;
  readonly #made = new Map<Variable, number>();
  /** Effects on the gradients of outputs after the run. */
  readonly gradients: Effect[] = [];
  /** Keeps outputs alive beyond the `tidy` around the call. */
  readonly kept: Effect[] = [];

  /** Recipes of tensors that require gradients on some paths only. */
  readonly #unions = new Map<Tensor, Recipe>();

  constructor(tracer: Tracer) {
    this.tracer = tracer;
    this.outputs = new ProgramOutputs(tracer.builder);
  }

  recipe(value: Variable): Recipe {
    const variable = resolved(value);
    if (variable === absent) return { kind: 'absent' };
    switch (variable.kind) {
      case 'constant':
        if (variable.source) return { kind: 'source', source: variable.source };
        return this.madeSymbol(variable.value) ?? { kind: 'constant', value: variable.value };
      case 'symbolic':
        return variable.source
          ? { kind: 'source', source: variable.source }
          : { kind: 'number', expr: variable.expr };
      case 'scalar':
        return {
          kind: 'scalar',
          index: this.outputs.ofScalar(variable.tensor),
          type: variable.type,
        };
      case 'text':
        return {
          kind: 'text',
          parts: mapText(variable.parts, ({ tensor, type }) => ({
            kind: 'scalar',
            index: this.outputs.ofScalar(tensor),
            type,
          })),
        };
      case 'union':
        return {
          kind: 'choice',
          which: this.recipe(variable.selector.which),
          options: variable.options.map((option) => this.recipe(option)),
        };
      case 'object':
        return { kind: 'source', source: variable.source };
      case 'function':
        return variable.source
          ? { kind: 'source', source: variable.source }
          : { kind: 'held', value: variable.value };
      case 'tensor':
        // An outer tensor is returned as the same object.
        return variable.source
          ? { kind: 'source', source: variable.source }
          : this.#tensorOutput(variable);
      case 'uninitialized':
        return variable.source
          ? { kind: 'source', source: variable.source }
          : { kind: 'constant', value: uninitialized };
      case 'newArray':
      case 'newCollection':
      case 'newHost':
        if (variable.outer) return { kind: 'source', source: variable.outer.source };
        return { kind: 'made', index: this.make(variable) };
      case 'newObject':
      case 'cell':
      case 'closure':
      case 'bound':
      case 'iterator':
      case 'iteratorRecord':
      case 'newTypedArray':
      case 'newPromise':
      case 'regexp':
      case 'generator':
        return { kind: 'made', index: this.make(variable) };
      case 'class':
        return this.tracer.control.plans.makeNatively(variable.code);
      case 'dynamic': {
        const recipe = { kind: 'output', index: this.outputs.of(variable.tensor) } as const;
        const isKept = this.tracer.effects.keptOpen.has(variable.tensor);
        if (isKept) this.kept.push({ kind: 'keep', tensor: recipe });
        return recipe;
      }
      case 'list':
        throw new InvariantError('a list is the content of an array');
      default:
        return assertNever(variable, 'variable');
    }
  }

  /** Returns the recipe for a symbol that was created in the trace; each run creates its own. */
  madeSymbol(value: unknown): Recipe | undefined {
    if (typeof value === 'symbol') expectNoPrivate(this.tracer, [value]);
    const variable = typeof value === 'symbol' ? this.tracer.symbols.get(value) : undefined;
    return variable && { kind: 'made', index: this.make(variable) };
  }

  entries({ entries }: NewCollectionVariable): EntryRecipe[] {
    return Array.from(entries.values(), ({ key, value }) => {
      return [this.recipe(key), this.recipe(value)] as const;
    });
  }

  order(keyed: KeyedVariable): KeyOrder | null {
    const { order, entries } = keyed;
    return order ? { which: this.recipe(order), labels: [...entries.keys()].map(labelOf) } : null;
  }

  /** Returns which of the objects created after the run represents the variable, if any. */
  indexOf(variable: Variable): number | undefined {
    return this.#made.get(variable);
  }

  /** The objects created after the run. */
  get made(): Iterable<Variable> {
    return this.#made.keys();
  }

  /** Creates one handle per traced tensor, with its gradient state. */
  #tensorOutput(variable: TensorVariable): Recipe {
    const tensor = variable.traced!;
    const isNew = !this.outputs.has(tensor);
    if (isNew) this.#handlesOf(variable);
    const output = { kind: 'output', index: this.outputs.of(tensor) } as const;
    const t = this.tracer;
    const recipe =
      requiresGradAlways(t, tensor) === null ? this.#withOrWithoutGraph(tensor, output) : output;
    if (!isNew) return recipe;
    if (this.tracer.builder.isOwnLeaf(tensor)) {
      this.gradients.push({ kind: 'requiresGrad', tensor: recipe, value: true });
    }
    if (variable.isKept) this.kept.push({ kind: 'keep', tensor: recipe });
    if (variable.retainsGrad) this.gradients.push({ kind: 'retainGrad', tensor: recipe });
    if (variable.grad?.kind === 'tensor' || variable.grad?.kind === 'union') {
      const value = this.recipe(variable.grad);
      this.gradients.push({ kind: 'setGrad', tensor: recipe, value });
    }
    return recipe;
  }

  /** Creates handles for tensors with gradient state that a merged tensor may be: on those paths it is that handle. */
  #handlesOf({ mergedFrom = [] }: TensorVariable): void {
    const { builder } = this.tracer;
    for (const each of mergedFrom) {
      const { traced, grad, retainsGrad } = each;
      if (traced?.traced?.builder !== builder) continue;
      const hasGrad = grad?.kind === 'tensor' || grad?.kind === 'union';
      if (!hasGrad && !retainsGrad && !builder.isOwnLeaf(traced)) continue;
      this.recipe(each);
      this.outputs.handles.add(this.outputs.of(traced));
    }
  }

  /** Selects the same tensor without a graph if the run's path recorded none. */
  #withOrWithoutGraph(tensor: Tensor, output: Recipe & { kind: 'output' }): Recipe {
    const known = this.#unions.get(tensor);
    if (known) return known;
    const t = this.tracer;
    const required = requiresGradFlag(t, tensor);
    const which = { kind: 'scalar', type: 'number', tensor: asNumber(t, required) } as const;
    const apart = withoutGraph(t, tensor);
    const recipe: Recipe = {
      kind: 'choice',
      which: this.recipe(which),
      options: [{ ...output, index: this.outputs.of(apart) }, output],
    };
    this.#unions.set(tensor, recipe);
    return recipe;
  }

  element(variable: Variable): Recipe | null {
    return variable === hole ? null : this.recipe(variable);
  }

  /** Returns the frame at the current instruction, with its live registers. */
  frame(frame: TraceFrame, pc: Pc, awaited: Reg | undefined): FrameRecipe {
    const { closure, cells, entry, returnTo } = frame;
    expectNotPassed(this.tracer, closure);
    expectNoPrivateFields(this.tracer, closure);
    const { plans } = this.tracer.control;
    if (frame.made) plans.makeNatively(frame.made.code);
    if (frame.home) plans.makeNatively(closure.code);
    // A frame that awaits a call may continue after the call, or at an exception handler.
    const live = [
      ...(awaited === undefined ? liveBefore(closure.code)[pc]! : liveDuring(closure.code, pc - 1)),
    ];
    const args = needsArguments(closure.code, pc) ? argumentsOf(frame) : [];
    return {
      call:
        entry !== null
          ? { kind: 'entry', frame: entry }
          : {
              kind: 'inlined',
              closure,
              cells: cells.map((cell) => this.recipe(cell)),
              thisValue: this.recipe(frame.thisVariable),
              args: args.map((arg) => this.recipe(arg)),
              newTarget: frame.newTarget && this.recipe(frame.newTarget),
            },
      pc,
      gradMode: frame.gradMode,
      guard: frame.guard,
      registers: live.flatMap((reg) => {
        const variable = frame.registers[reg];
        return variable ? [[reg, this.recipe(variable)] as const] : [];
      }),
      returnTo,
    };
  }

  make(variable: Variable): number {
    const existing = this.#made.get(variable);
    if (existing !== undefined) return existing;
    const index = this.makes.length;
    this.#made.set(variable, index);
    // Reserves the object's slot before its contents are requested: an object may contain itself.
    this.makes.push({ kind: 'array', elements: [], named: [], isFrozen: false, own: null });
    this.makes[index] = makeOf(this, variable);
    return index;
  }
}
