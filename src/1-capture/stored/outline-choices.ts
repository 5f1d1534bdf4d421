import type { BindingKind, LexicalScope } from '../script/binding.ts';
import type { PrivateDeclaration } from '../script/private-declaration.ts';
import type { FunctionOutline } from './function-outline.ts';

/** Values that stored outlines refer to by their index here. */
export const functionKinds = [
  'function',
  'arrow',
  'method',
  'constructor',
] as const satisfies readonly FunctionOutline['kind'][];

export const bindingKinds = [
  'import',
  'namespace',
  'const',
  'let',
  'var',
  'parameter',
  'catch',
  'function',
  'class',
  'self',
] as const satisfies readonly BindingKind[];

export const scopeKinds = [
  'program',
  'function',
  'body',
  'block',
  'class',
] as const satisfies readonly LexicalScope['kind'][];

export const privateKinds = [
  'field',
  'method',
  'accessor',
] as const satisfies readonly PrivateDeclaration['kind'][];
