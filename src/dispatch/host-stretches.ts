/**
 * Native execution from an instruction on values that change with every call up to the next one that may run tensor
 * ops: logs, statistics and text between graphs.
 */

import { events } from '../../runtime/memory/events.ts';
import { Tensor } from '../../runtime/tensor/tensor.ts';
import { keepsNoOperand } from '../3-trace/builtins/api.ts';
import { isProxy } from '../guards/plain.ts';
import type { StatsCounter } from '../stats.ts';
import type { OpSites } from '../traces/op-sites.ts';
import { reads, writes } from '../vm/bytecode/effects.ts';
import type { Frame } from '../vm/bytecode/frame.ts';
import type { Instruction, Opcode, Reg } from '../vm/bytecode/instructions.ts';
import { Suspended } from '../vm/frames/suspended.ts';
import { isHostFunction } from '../vm/language/host-functions.ts';
import { isNumberCall } from '../vm/language/number-calls.ts';
import { executeFrame } from '../vm/machine/machine.ts';
import { step } from '../vm/machine/run-frames.ts';
import type { Entry } from './entry.ts';
import type { FrameCompiler } from './frame-compiler.ts';
import { runPart, stepNatively } from './native.ts';
import { HostMachines } from './native-parts/host-machines.ts';
import type { OwnedTensors } from './ownership/owned-tensors.ts';
import type { ResumePoint } from './resume-point.ts';

/** Long loops run faster once they are traced, or natively as a whole. */
const mostSteps = 2 ** 14;

const loads: ReadonlySet<Opcode> = new Set([
  ...(['const', 'move', 'arg', 'this', 'loadFree', 'loadCell', 'outerCell', 'newCell'] as const),
  ...(['storeCell', 'checkInitialized', 'uninitialized', 'closure', 'getProp', 'jump'] as const),
]);

/** After this many entries without a graph at one point, no more are compiled there. */
const fewestDifferent = 4;

/** Native execution between the graphs of one captured function. */
export class HostStretches {
  readonly #compiler: FrameCompiler;
  readonly #stats: StatsCounter;
  readonly #machines: HostMachines;

  constructor(compiler: FrameCompiler, stats: StatsCounter) {
    this.#compiler = compiler;
    this.#stats = stats;
    this.#machines = new HostMachines(compiler.sites);
  }

  /** How often a call has passed a point without a graph. */
  passed = 0;

  /**
   * At a point whose entries have no graph, but which no entry fits: runs what needs no tensor op, instead of compiling
   * another one. Returns whether that is anything.
   */
  passGraphless(point: ResumePoint, frames: Frame[], owned: OwnedTensors): boolean {
    if (point.size < fewestDifferent || !point.hasNoGraph) return false;
    const isMoved = this.#run(frames, owned) !== 'nothing';
    if (isMoved) this.passed++;
    return isMoved;
  }

  /**
   * At a point with many entries, all of which reject the call because of values of JavaScript: runs what these values
   * decide before the next tensor op. Returns whether that is anything.
   */
  passCrowded(point: ResumePoint, frames: Frame[], owned: OwnedTensors): boolean {
    return point.differsInHostValues(frames) && this.#run(frames, owned) === 'work';
  }

  /** Continues after an instruction that ran natively because its operands change from call to call. */
  continue({ result: { outcome } }: Entry, frames: Frame[], owned: OwnedTensors): void {
    if (outcome.kind === 'break' && outcome.record.reason === 'host-value')
      this.#run(frames, owned);
  }

  /** Returns whether instructions have run, and whether one of them did more than load a value. */
  #run(frames: Frame[], owned: OwnedTensors): 'work' | 'loads' | 'nothing' {
    if (!this.#compiler.mayFallBack) return 'nothing';
    const { sites } = this.#compiler;
    let done: 'work' | 'loads' | 'nothing' = 'nothing';
    let isStart = true;
    for (let steps = 0; steps < mostSteps; steps++) {
      const frame = frames[frames.length - 1]!;
      const { code } = frame.closure;
      const { pc } = frame;
      if (isStart && this.#runPart(frames, owned)) {
        done = 'work';
        isStart = false;
        continue;
      }
      const instruction = code.instructions[pc]!;
      if (instruction.op === 'return') {
        if (!popFrame(frames)) break;
        done = 'work';
        continue;
      }
      const isOfOwn = isPlain(frame, instruction, owned);
      if (!isOfOwn && !isHostOnly(frame, instruction, sites, owned)) break;
      if (!loads.has(instruction.op)) done = 'work';
      else if (done === 'nothing') done = 'loads';
      this.#machines.noteStep(code, pc);
      if (isOfOwn) {
        step(frame);
        const { registers } = frame;
        if (creating.has(instruction.op)) owned.addContainer(registers[writes(instruction)!]);
        const put = putBy(instruction);
        if (put)
          owned.notePut(
            registers[put.into],
            put.values.map((reg) => registers[reg]),
          );
      } else {
        const before = events.kernels;
        try {
          stepNatively(frames, owned, keepsNoOperand);
        } finally {
          // The call had none when it was traced.
          if (events.kernels > before) sites.noteOp([{ closure: frame.closure, pc }]);
          this.#stats.eagerKernels += events.kernels - before;
        }
      }
      isStart = frame.pc < pc;
    }
    return done;
  }

  /** At the start of a stretch or an iteration: runs it on a machine if it recurs. Returns whether it did. */
  #runPart(frames: Frame[], owned: OwnedTensors): boolean {
    const frame = frames[frames.length - 1]!;
    const { pc } = frame;
    const instruction = frame.closure.code.instructions[pc]!;
    // A machine stops before such a call.
    if (instruction.op === 'call' && isNumberCall(frame.registers[instruction.callee]))
      return false;
    const machine = this.#machines.find(frame, owned);
    if (!machine) return false;
    const before = events.kernels;
    try {
      runPart(frames, machine);
    } finally {
      // A call that had none before.
      if (events.kernels > before) this.#machines.forget(frame.closure.code);
      this.#stats.eagerKernels += events.kernels - before;
    }
    this.#machines.noteStop(frame, pc);
    return true;
  }
}

/** Returns to the calling frame; false in the outermost one. */
function popFrame(frames: Frame[]): boolean {
  if (frames.length === 1) return false;
  const frame = frames[frames.length - 1]!;
  const value = executeFrame(frame);
  if (Suspended.is(value)) return false;
  frames.pop();
  if (frame.returnTo !== undefined) frames[frames.length - 1]!.registers[frame.returnTo] = value;
  return true;
}

/** Whether the instruction shows no object to native code: what the call creates and reads remains its own. */
function isPlain({ registers }: Frame, instruction: Instruction, owned: OwnedTensors): boolean {
  const isOwn = (reg: Reg) => owned.isContainer(registers[reg]);
  const { op } = instruction;
  switch (op) {
    case 'move':
    case 'newObject':
    case 'newCell':
      return true;
    case 'newArray':
      return !instruction.elements.some((reg) => isTensor(registers[reg]));
    case 'closure':
      return instruction.nameFrom === undefined && instruction.home === undefined;
    case 'loadCell':
      return isOwn(instruction.cell);
    case 'storeCell':
      return isOwn(instruction.cell) && !isTensor(registers[instruction.src]);
    case 'defineProp':
      return isOwn(instruction.object) && !isTensor(registers[instruction.src]);
    case 'arrayPush':
      return isOwn(instruction.array) && !isTensor(registers[instruction.src]);
    case 'getProp':
      return (
        isOwn(instruction.object) &&
        isDataOf(registers[instruction.object] as object, instruction.key)
      );
    default:
      return false;
  }
}

/** The container into which the instruction puts values, and these. */
function putBy(instruction: Instruction): { into: Reg; values: readonly Reg[] } | undefined {
  switch (instruction.op) {
    case 'newArray':
      return { into: instruction.dst, values: instruction.elements };
    case 'closure':
      return { into: instruction.dst, values: instruction.cells };
    case 'storeCell':
      return { into: instruction.cell, values: [instruction.src] };
    case 'defineProp':
      return { into: instruction.object, values: [instruction.src] };
    case 'arrayPush':
      return { into: instruction.array, values: [instruction.src] };
    default:
      return undefined;
  }
}

const creating: ReadonlySet<Opcode> = new Set(['newObject', 'newCell', 'newArray', 'closure']);

/** Whether reading the property calls no getter of a class. */
function isDataOf(object: object, key: string): boolean {
  if (Object.hasOwn(object, key)) return true;
  const prototype: unknown = Object.getPrototypeOf(object);
  return prototype === Object.prototype || prototype === Array.prototype;
}

function isHostOnly(
  { closure: { code }, pc, registers }: Frame,
  instruction: Instruction,
  sites: OpSites,
  owned: OwnedTensors,
): boolean {
  const { op } = instruction;
  if (op === 'await' || op === 'yield' || op === 'generatorStart') return false;
  if (sites.mayHave(code, pc)) return false;
  // What native code has seen is no longer given back by the call.
  const keeps = (value: unknown) => isTensor(value) || owned.mayHoldTensor(value);
  if (reads(instruction).some((reg) => keeps(registers[reg]))) return false;
  switch (op) {
    case 'call':
    case 'construct':
      // A guard may have drawn its number already, for the next graph.
      if (isNumberCall(registers[instruction.callee])) return false;
      return (
        sites.hasNone(code, pc) ||
        (isHostFunction(registers[instruction.callee]) &&
          instruction.args.every((reg) => typeof registers[reg] !== 'function'))
      );
    case 'callSpread':
    case 'constructSpread':
      return sites.hasNone(code, pc);
    default:
      return true;
  }
}

const isTensor = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && !isProxy(value) && value instanceof Tensor;
