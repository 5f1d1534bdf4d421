import { events } from '../../runtime/memory/events.ts';
import type { Subgraph } from '../../runtime/run-program/run-program.ts';
import type { Tensor } from '../../runtime/tensor/tensor.ts';
import type { Frame } from '../bytecode/frame.ts';
import { GuardSet } from '../guards/guard.ts';
import { compileReader, type Reader } from '../guards/source.ts';
import type { TraceResult } from '../traces/trace-result.ts';
import {
  compileFrame,
  compileMakes,
  compileRecipe,
  type RecipeReader,
  type RunValues,
} from './materialize.ts';
import type { OwnedTensors } from './owned-tensors.ts';

export type EntryOutcome =
  | { readonly kind: 'return'; readonly value: unknown }
  | { readonly kind: 'break'; readonly frames: Frame[] };

/** One compiled way through the code from an entry point: what must hold, what runs, what follows. */
export class Entry {
  readonly guards: GuardSet;
  readonly result: TraceResult;
  /** Null when there is no tensor op before the break or return. */
  readonly subgraph: Subgraph | null;
  readonly #inputs: readonly Reader[];
  readonly #make: (values: RunValues) => void;
  readonly #returns: RecipeReader | null;
  readonly #frames: readonly ((values: RunValues) => Frame)[];

  constructor(result: TraceResult, subgraph: Subgraph | null) {
    this.result = result;
    this.subgraph = subgraph;
    this.guards = new GuardSet(result.guards);
    this.#inputs = subgraph ? result.inputs.map(compileReader) : [];
    this.#make = compileMakes(result.makes);
    const { outcome } = result;
    this.#returns = outcome.kind === 'return' ? compileRecipe(outcome.value) : null;
    this.#frames = outcome.kind === 'break' ? outcome.frames.map(compileFrame) : [];
  }

  /** The guards must hold. `owned` are tensors that only the frames hold; dead ones are given back. */
  run(frames: readonly Frame[], owned: OwnedTensors): EntryOutcome {
    const inputs = this.#inputs.map((read) => read(frames) as Tensor);
    const outputs = this.subgraph ? runMarked(this.subgraph, inputs) : [];
    const values: RunValues = { frames, outputs, made: [] };
    this.#make(values);
    if (this.#returns) {
      const value = this.#returns(values);
      owned.leave(value, values.made);
      return { kind: 'return', value };
    }
    const next = this.#frames.map((build) => build(values));
    owned.moveTo(next, outputs, values.made);
    return { kind: 'break', frames: next };
  }
}

let calls = 0;

/** Every run of a subgraph leaves a mark in the event stream, to find it again in a log. */
function runMarked(subgraph: Subgraph, inputs: readonly Tensor[]): Tensor[] {
  const call = calls++;
  if (events.active) events.mark(`START SOT_CALL_${call}`);
  return subgraph.run(inputs);
}
