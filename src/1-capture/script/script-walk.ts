import type { AnyNode } from 'acorn';
import type { Binding, FunctionFacts } from './binding.ts';
import type { ClassNode } from './captured-function.ts';
import type { Place } from './place.ts';

/** The walk over a script: what it has found, and how it visits a node. */
export interface ScriptWalk {
  readonly functions: FunctionFacts[];
  /** All classes, with the outer names that their fields use. */
  readonly classes: Map<ClassNode, ReadonlyMap<string, Binding | undefined>>;
  /** The outer names that the fields of each class assign. */
  readonly assignedByFields: Map<ClassNode, ReadonlySet<string>>;
  visit(node: AnyNode | null | undefined, place: Place): void;
}

export const hasUseStrict = (body: readonly AnyNode[]): boolean =>
  body.some(
    (statement) => statement.type === 'ExpressionStatement' && statement.directive === 'use strict',
  );
