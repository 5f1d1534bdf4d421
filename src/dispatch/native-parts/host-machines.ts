/** Machines for parts of the code that run natively between graphs again and again. */

import { Tensor } from '../../../runtime/tensor/tensor.ts';
import { isProxy } from '../../guards/plain.ts';
import type { OpSites } from '../../traces/op-sites.ts';
import type { Code } from '../../vm/bytecode/code.ts';
import { reads } from '../../vm/bytecode/effects.ts';
import type { Frame } from '../../vm/bytecode/frame.ts';
import type { Opcode, Pc, Reg } from '../../vm/bytecode/instructions.ts';
import { liveBefore } from '../../vm/bytecode/liveness.ts';
import type { Machine } from '../../vm/frames/machine.ts';
import { compilePart } from '../../vm/machine/machine.ts';
import type { OwnedTensors } from '../ownership/owned-tensors.ts';

/** A part is compiled once execution has come to its start this often: fewer steps cost less than a compilation. */
const enoughVisits = 16;

/** Beyond, execution takes so many paths that parts are no longer compiled again with more of them. */
const mostMachines = 24;

interface Part {
  readonly machine: Machine;
  /** Registers of the frame that the part reads. */
  readonly read: readonly Reg[];
  /** Whether it reads the arguments or outer cells. */
  readonly readsFrame: boolean;
  /** Whether it reads `this` or the home object, which every arrow captures. */
  readonly readsThis: boolean;
  readonly stops: ReadonlySet<Pc>;
  /** How often it has stopped before instructions that were not known when it was compiled. */
  stale: number;
}

interface OfCode {
  /** Instructions that have run one by one; `find` sees to it that a part of them reads no tensor. */
  readonly known: Set<Pc>;
  readonly visits: Map<Pc, number>;
  readonly parts: Map<Pc, Part>;
  compiled: number;
  /** The number of instructions with ops at which `known` contains none of them. */
  ops: number;
}

/**
 * Instructions that have been executed one by one, without tensors, are compiled once they recur: loops over numbers
 * that were read from a tensor, such as sampling a token, then run as fast as the user's own code.
 */
export class HostMachines {
  readonly #codes = new WeakMap<Code, OfCode>();
  readonly #sites: OpSites;

  constructor(sites: OpSites) {
    this.#sites = sites;
  }

  /** Notes that the instruction has run natively and that none of its operands holds a tensor. */
  noteStep(code: Code, pc: Pc): void {
    this.#of(code).known.add(pc);
  }

  /** Called where such instructions have run a tensor op: its instructions are executed one by one from now on. */
  forget(code: Code): void {
    const known = this.#of(code);
    known.parts.clear();
    known.compiled = mostMachines;
  }

  /**
   * Returns the machine for the innermost frame, which is where a stretch or an iteration begins. What the part reads
   * then counts as seen by native code. Undefined if there is none yet, or if the frame holds tensors of the call.
   */
  find(frame: Frame, owned: OwnedTensors): Machine | undefined {
    const { closure, pc, registers, args, thisValue } = frame;
    const part = this.#partAt(closure.code, pc);
    if (!part) return undefined;
    const seen = part.read.map((reg) => registers[reg]);
    if (part.readsFrame) seen.push(...args, ...closure.cells);
    if (part.readsThis) seen.push(thisValue, closure.homeObject);
    if (seen.some((value) => isTensor(value) || owned.mayHoldTensor(value))) return undefined;
    for (const value of seen) owned.escape(value);
    return part.machine;
  }

  /** Called when a part that began at `start` has stopped: it is compiled again if it should have gone on. */
  noteStop({ closure: { code }, pc }: Frame, start: Pc): void {
    const known = this.#of(code);
    const part = known.parts.get(start);
    if (!part?.stops.has(pc) || !known.known.has(pc)) return;
    if (++part.stale >= enoughVisits && known.compiled < mostMachines) known.parts.delete(start);
  }

  #partAt(code: Code, pc: Pc): Part | undefined {
    const known = this.#of(code);
    const part = known.parts.get(pc);
    if (part) return part;
    const visits = (known.visits.get(pc) ?? 0) + 1;
    known.visits.set(pc, visits);
    if (visits < enoughVisits || !known.known.has(pc) || known.compiled >= mostMachines)
      return undefined;
    known.compiled++;
    const machine = partOf(code, pc, known.known);
    if (machine) known.parts.set(pc, machine);
    return machine;
  }

  #of(code: Code): OfCode {
    const { count } = this.#sites;
    let found = this.#codes.get(code);
    if (!found) {
      found = { known: new Set(), visits: new Map(), parts: new Map(), compiled: 0, ops: count };
      this.#codes.set(code, found);
    }
    if (found.ops === count) return found;
    found.ops = count;
    for (const pc of found.known) {
      if (!this.#sites.mayHave(code, pc)) continue;
      found.known.delete(pc);
      found.parts.clear();
    }
    return found;
  }
}

function partOf(code: Code, entry: Pc, known: ReadonlySet<Pc>): Part | undefined {
  const pcs = code.instructions.keys();
  const stops = new Set([...pcs].filter((pc) => !known.has(pc)));
  const machine = compilePart(code, entry, stops);
  if (!machine) return undefined;
  const instructions = [...known].map((pc) => code.instructions[pc]!);
  const all = new Set(instructions.flatMap((each) => [...reads(each)]));
  const read = [...liveBefore(code)[entry]!].filter((reg) => all.has(reg));
  const readsFrame = instructions.some(({ op }) => ofFrame.has(op));
  const readsThis = instructions.some(({ op }) => ofThis.has(op));
  return { machine, read, readsFrame, readsThis, stops, stale: 0 };
}

const ofFrame: ReadonlySet<Opcode> = new Set<Opcode>([
  ...(['arg', 'restArgs', 'arguments', 'parameterCell', 'outerCell'] as const),
]);

const ofThis: ReadonlySet<Opcode> = new Set<Opcode>([
  ...(['this', 'closure', 'class', 'getSuper', 'getSuperElem', 'intrinsic'] as const),
]);

const isTensor = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && !isProxy(value) && value instanceof Tensor;
