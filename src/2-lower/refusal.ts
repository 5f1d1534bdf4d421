import type { Node } from 'acorn';
import type { Span } from '../bytecode/instructions.ts';
import { spanOf } from './nodes.ts';

/** Why a function can't be lowered: a closed set, each with an explanation and a way out. */
export type LowerRefusalReason = keyof typeof lowerRefusals;

export const lowerRefusals = {
  'class-constructor': {
    explanation: 'A class constructor makes an object as well as running its body.',
    remedy: 'Capture a method of the class, or the function that constructs the object.',
  },
  generator: {
    explanation: 'A generator function keeps its own place between calls.',
    remedy: 'Return an array, or call the generator outside the captured function.',
  },
  'for-await': {
    explanation: '`for await` asks an asynchronous iterator.',
    remedy: 'Write a loop that awaits each element.',
  },
  class: {
    explanation: 'A class that is made inside the function is not followed.',
    remedy: 'Move the class out of the function.',
  },
  with: {
    explanation: '`with` makes the meaning of names unknown.',
    remedy: 'Name the object in each access.',
  },
  'direct-eval': {
    explanation: 'Direct eval can read and change every variable.',
    remedy: 'Call a function instead.',
  },
  arguments: {
    explanation:
      '`arguments` of sloppy code shares its elements with the parameters; an arrow has none.',
    remedy: 'Use a rest parameter: (...args).',
  },
  using: {
    explanation: '`using` disposes values on every way out of the block.',
    remedy: 'Leave the variable to the memory planner: inside captured code it needs no disposal.',
  },
  'private-name': {
    explanation: 'The capture could not reach into the class for its private names.',
    remedy: 'Run it under Node or through the build plugin, or use an ordinary property.',
  },
  super: {
    explanation: 'Only reads of super in a method and in its arrows are followed.',
    remedy: 'Call the method of the superclass by super.name(…) in the captured method itself.',
  },
  'new-target': {
    explanation: 'new.target is followed in ordinary functions only.',
    remedy: 'Read it into a variable before the arrow.',
  },
  'assign-to-constant': {
    explanation: 'The function assigns to a constant, which throws a TypeError when it runs.',
    remedy: 'Declare the variable with let.',
  },
  'sloppy-function-in-block': {
    explanation: 'Outside strict mode a function in a block is also a variable of the function.',
    remedy: 'Use an ES module or "use strict", or write const name = () => ….',
  },
  'delete-variable': {
    explanation: 'The function deletes a variable.',
    remedy: 'Assign undefined instead.',
  },
  'dynamic-import': {
    explanation: 'import() and import.meta belong to the module of the function.',
    remedy: 'Import at the top of the file.',
  },
} as const satisfies Record<string, { explanation: string; remedy: string }>;

export interface LowerRefusal {
  readonly refused: true;
  readonly reason: LowerRefusalReason;
  readonly span: Span;
  readonly explanation: string;
}

export function refuse(reason: LowerRefusalReason, node: Node): LowerRefusal {
  const { explanation } = lowerRefusals[reason];
  return { refused: true, reason, span: spanOf(node), explanation };
}

export function isLowerRefusal(result: object): result is LowerRefusal {
  return 'refused' in result;
}
