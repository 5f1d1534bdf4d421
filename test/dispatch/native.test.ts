import { describe, expect, it } from 'vitest';
import { finishNatively, stepNatively } from '../../src/dispatch/native.ts';
import { OwnedTensors } from '../../src/dispatch/ownership/owned-tensors.ts';
import type { Code } from '../../src/vm/bytecode/code.ts';
import type { Frame, Scope } from '../../src/vm/bytecode/frame.ts';
import { reg } from '../../src/vm/bytecode/instructions.ts';
import { activate } from '../../src/vm/frames/activation.ts';
import { lowerChecked } from '../lower/parse-function.ts';

const scope: Scope = {
  get: () => undefined,
  has: () => false,
  set: () => {},
  reader: () => () => undefined,
  isConstant: () => false,
};

/** The caller waits in its first call, behind it; the callee stands at its own. */
function suspendedIn(callerText: string, calleeText: string): Frame[] {
  const atCall = (code: Code): number => code.instructions.findIndex(({ op }) => op === 'call');
  const [caller, callee] = [callerText, calleeText].map((text) =>
    activate({ code: lowerChecked(text), scope, cells: [] }, undefined, []),
  );
  const fail = () => {
    throw new Error('native');
  };
  const call = caller!.closure.code.instructions[atCall(caller!.closure.code)]!;
  caller!.pc = atCall(caller!.closure.code) + 1;
  caller!.registers[0] = 'kept';
  callee!.pc = atCall(callee!.closure.code);
  callee!.registers[0] = fail;
  return [caller!, { ...callee!, returnTo: 'dst' in call ? call.dst : reg(0) }];
}

const catching =
  '(x) => { try { x = (() => 1)(); } catch (e) { return [x, e.message]; } return x; }';

describe('a native step that throws', () => {
  it('goes on at the handler of a frame below', () => {
    const frames = suspendedIn(catching, '(f) => { f(); }');
    stepNatively(frames, new OwnedTensors(), () => false);
    expect(frames).toHaveLength(1);
    expect(finishNatively(frames, new OwnedTensors())).toEqual(['kept', 'native']);
  });

  it('goes on in its own frame when that catches', () => {
    const frames = suspendedIn(catching, '(f) => { try { f(); } catch { return "inner"; } }');
    stepNatively(frames, new OwnedTensors(), () => false);
    expect(frames).toHaveLength(2);
    expect(finishNatively(frames, new OwnedTensors())).toBe('inner');
  });

  it('leaves when nothing catches', () => {
    const frames = suspendedIn('() => { (() => 1)(); }', '(f) => { f(); }');
    expect(() => stepNatively(frames, new OwnedTensors(), () => false)).toThrow('native');
  });

  it('is caught by a frame below when the rest runs natively', () => {
    const frames = suspendedIn(catching, '(f) => { f(); }');
    expect(finishNatively(frames, new OwnedTensors())).toEqual(['kept', 'native']);
  });
});
