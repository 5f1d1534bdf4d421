import { expect, it } from 'vitest';
import { InvariantError } from '../../runtime/errors/invariant.ts';
import { codeOf } from '../../src/dispatch/code-cache.ts';
import { ones, type Tensor, toStatic } from '../../src/index.ts';
import { type Instruction, reg } from '../../src/vm/bytecode/instructions.ts';

it('with strict, bytecode is verified before it is traced, that of called functions too', () => {
  const callee = (x: Tensor): Tensor => x.add(1);
  const outer = (x: Tensor): Tensor => callee(x).mul(2);
  for (const broken of [outer, callee]) {
    const found = codeOf(broken);
    if ('refused' in found) throw new Error(found.why);
    const instructions = found.closure.code.instructions as Instruction[];
    const first = instructions[0]!;
    instructions[0] = { op: 'move', dst: reg(0), src: reg(999) };
    const call = (): Tensor => toStatic(outer, { strict: true })(ones([2]));
    expect(call).toThrow(InvariantError);
    expect(call).toThrow(`bytecode of ${broken.name}, 0 `);
    instructions[0] = first;
  }
  expect([...toStatic(outer, { strict: true })(ones([2])).dataSync()]).toEqual([4, 4]);
});
