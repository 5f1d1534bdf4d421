import { generate } from 'astring';
import type { BlockStatement, Identifier, Program, Statement } from 'estree';
import type { Code } from '../bytecode/code.ts';
import { reg } from '../bytecode/instructions.ts';
import {
  array,
  block,
  call,
  declare,
  element,
  id,
  literal,
  property,
  register,
  run,
  throws,
} from './estree.ts';
import { statementsOf } from './machine-statements.ts';

/**
 * In: verified code. Out: the text of a function body with the parameters C (the code) and H (the
 * helpers) that returns the state machine, `(frame) => value`:
 *
 *   return function (F) {
 *     const R = F.registers, …; let r0 = R[0], …, pc = F.pc;
 *     for (;;) switch (pc) { case 0: … case 7: if (!r3) { pc = 12; continue; } … }
 *   }
 *
 * Guarantees: it can be entered at every instruction; `F.pc` is the instruction that runs whenever
 * other code is called, so that positions can be told; nothing else of the frame is written.
 */
export function machineText(code: Code): string {
  const names: string[] = [];
  const readerOf = (name: string): number => {
    if (!names.includes(name)) names.push(name);
    return names.indexOf(name);
  };
  const cases = code.instructions.map((_, pc) => ({
    type: 'SwitchCase' as const,
    test: literal(pc),
    consequent: [...statementsOf({ code, pc, readerOf })],
  }));
  const loop: Statement = {
    type: 'ForStatement',
    body: block([{ type: 'SwitchStatement', discriminant: id('pc'), cases }]),
  };
  const program: Program = {
    type: 'Program',
    sourceType: 'script',
    body: [
      ...(code.strict ? [run(literal('use strict'))] : []),
      declare('const', [[id('apply'), property(id('Reflect'), 'apply')]]),
      {
        type: 'ReturnStatement',
        argument: {
          type: 'FunctionExpression',
          id: null,
          params: [id('F')],
          body: block([...prologue(code, names), guardIterators(code, loop)]),
        },
      },
    ],
  };
  return generate(program);
}

function prologue(code: Code, names: readonly string[]): Statement[] {
  const frame = id('F');
  const closure = property(frame, 'closure');
  const parts = [
    [id('R'), property(frame, 'registers')],
    [id('A'), property(frame, 'args')],
    [id('T'), property(frame, 'thisValue')],
    [id('S'), property(closure, 'scope')],
    [id('K'), property(closure, 'cells')],
  ] as const;
  const registers = code.registerNames.map((_, index) => {
    const name: Identifier = register(reg(index));
    return [name, element(id('R'), literal(index))] as const;
  });
  const readers = names.map((_, index) => [id(`g${index}`), literal(undefined)] as const);
  return [
    declare('const', parts),
    declare('let', [...registers, ...readers, [id('pc'), property(frame, 'pc')]]),
  ];
}

/** A throw closes the iterators that are open, the innermost (highest register) first. */
function guardIterators(code: Code, loop: Statement): Statement {
  const iterators = new Set(
    code.instructions.flatMap((each) => (each.op === 'getIterator' ? [each.dst] : [])),
  );
  if (iterators.size === 0) return loop;
  const inOrder = [...iterators].sort((a, b) => a - b).map(register);
  const handler: BlockStatement = block([
    run(call(property(id('H'), 'abandonIterators'), [array(inOrder)])),
    throws(id('error')),
  ]);
  return {
    type: 'TryStatement',
    block: block([loop]),
    handler: { type: 'CatchClause', param: id('error'), body: handler },
  };
}
