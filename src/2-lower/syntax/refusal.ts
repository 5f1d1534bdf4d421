import type { Node } from 'acorn';
import type { Span } from '../../vm/bytecode/instructions.ts';
import { spanOf } from './nodes.ts';

/** Why a function can't be lowered: a closed set, each with an explanation and a hint. */
export type LowerRefusalReason = keyof typeof lowerRefusals;

export const lowerRefusals = {
  'class-constructor': {
    explanation: 'A class constructor makes an object as well as running its body.',
    remedy: 'Capture a method of the class, or the function that constructs the object.',
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
    explanation: 'The `arguments` of an arrow are those of the function around it.',
    remedy: 'Use a rest parameter: (...args).',
  },
  'es5-generator': {
    explanation: 'A compiler made a state machine of a generator or an async function.',
    remedy: 'Compile to ES2022 or later, which keeps them as they are.',
  },
  'await-using': {
    explanation: '`await using` waits at every exit from the block.',
    remedy: 'Leave tensors to the memory planner, or dispose of the value in a `finally` block.',
  },
  'private-name': {
    explanation: 'The capture could not reach into the class for its private names.',
    remedy: 'Run it under Node or through the build plugin, or use an ordinary property.',
  },
  super: {
    explanation: 'The constructor around the arrow makes the object.',
    remedy: 'Capture a method of the class.',
  },
  'new-target': {
    explanation: 'The `new.target` of an arrow is that of the function around it.',
    remedy: 'Read it into a variable before the arrow.',
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
