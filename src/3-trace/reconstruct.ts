import { assertNever, invariant } from '../../runtime/errors/invariant.ts';
import type { ValueId } from '../../runtime/program/program.ts';
import type { Tensor } from '../../runtime/tensor/tensor.ts';
import { needsArguments } from '../bytecode/call-inputs.ts';
import { uninitialized } from '../bytecode/frame.ts';
import type { Pc, Reg } from '../bytecode/instructions.ts';
import { liveBefore, liveDuring } from '../bytecode/liveness.ts';
import type { Effect, FrameRecipe, Make, Recipe } from '../traces/trace-result.ts';
import type { TraceFrame, Tracer } from './tracer.ts';
import type { Variable } from './variable.ts';

/**
 * Turns variables into recipes that give the same values after a run of the graph. One object has one
 * recipe, however often it is reached, so identities and cycles stay.
 */
export class Reconstruction {
  readonly makes: Make[] = [];
  /** Program values that the recipes need, as the subgraph's outputs. */
  readonly outputs: ValueId[] = [];
  readonly #outputTensors: Tensor[] = [];
  readonly #tracer: Tracer;
  readonly #made = new Map<Variable, number>();

  constructor(tracer: Tracer) {
    this.#tracer = tracer;
  }

  recipe(variable: Variable): Recipe {
    switch (variable.kind) {
      case 'constant':
        return variable.source
          ? { kind: 'source', source: variable.source }
          : { kind: 'constant', value: variable.value };
      case 'symbolic':
        return variable.source
          ? { kind: 'source', source: variable.source }
          : { kind: 'number', expr: variable.expr };
      case 'object':
        return { kind: 'source', source: variable.source };
      case 'function':
        return variable.source
          ? { kind: 'source', source: variable.source }
          : { kind: 'held', value: variable.value };
      case 'tensor':
        // An outer tensor is that very tensor again.
        return variable.source
          ? { kind: 'source', source: variable.source }
          : { kind: 'output', index: this.#output(variable.traced!) };
      case 'uninitialized':
        return variable.source
          ? { kind: 'source', source: variable.source }
          : { kind: 'constant', value: uninitialized };
      case 'newArray':
      case 'newObject':
      case 'cell':
      case 'closure':
      case 'arrayIterator':
        return { kind: 'made', index: this.#make(variable) };
      default:
        return assertNever(variable, 'variable');
    }
  }

  /** The changes to make after the run. */
  effects(): Effect[] {
    const { effects } = this.#tracer;
    const writes = Array.from(effects.writes(), ({ object, key, value }): Effect => {
      return { kind: 'setProperty', object, key, value: this.recipe(value) };
    });
    return [
      ...writes,
      ...Array.from(effects.disposed, (tensor): Effect => ({ kind: 'dispose', tensor })),
    ];
  }

  /** Per output: its graph is there and no backward has used it up. */
  differentiable(): boolean[] {
    return this.#outputTensors.map(({ gradEdge }) => gradEdge !== null && !gradEdge.node.consumed);
  }

  /** The frame at its present instruction, with the registers that are read from there on. */
  frame(frame: TraceFrame, pc: Pc, awaited: Reg | undefined): FrameRecipe {
    const { closure, cells, entry, returnTo } = frame;
    // A frame that waits for its call may go on behind it, or at the handler of a throw.
    const live = [
      ...(awaited === undefined ? liveBefore(closure.code)[pc]! : liveDuring(closure.code, pc - 1)),
    ];
    const args = needsArguments(closure.code, pc) ? frame.args : [];
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
            },
      pc,
      gradMode: frame.gradMode,
      registers: live.flatMap((reg) => {
        const variable = frame.registers[reg];
        return variable ? [[reg, this.recipe(variable)] as const] : [];
      }),
      returnTo,
    };
  }

  #output(tensor: Tensor): number {
    const id = this.#tracer.builder.valueOf(tensor);
    const existing = this.outputs.indexOf(id);
    if (existing >= 0) return existing;
    this.#outputTensors.push(tensor);
    return this.outputs.push(id) - 1;
  }

  #make(variable: Variable): number {
    const existing = this.#made.get(variable);
    if (existing !== undefined) return existing;
    const index = this.makes.length;
    this.#made.set(variable, index);
    // Takes its place before its contents are asked for: an object may contain itself.
    this.makes.push({ kind: 'array', elements: [] });
    this.makes[index] = this.#content(variable);
    return index;
  }

  #content(variable: Variable): Make {
    switch (variable.kind) {
      case 'newArray':
        return { kind: 'array', elements: variable.elements.map((e) => this.recipe(e)) };
      case 'newObject':
        return {
          kind: 'object',
          entries: [...variable.entries].map(([key, value]) => [key, this.recipe(value)]),
        };
      case 'cell':
        return { kind: 'cell', content: this.recipe(variable.content) };
      case 'arrayIterator':
        return { kind: 'arrayIterator', array: this.recipe(variable.array), next: variable.next };
      case 'closure': {
        const { code, outer, cells, thisVariable, name } = variable;
        return {
          kind: 'closure',
          code,
          outer,
          cells: cells.map((cell) => this.recipe(cell)),
          thisValue: this.recipe(thisVariable),
          name,
        };
      }
      default:
        invariant(false, `a ${variable.kind} is not made`);
    }
  }
}
