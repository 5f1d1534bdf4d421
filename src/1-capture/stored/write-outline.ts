import type { StoredWriter } from '../../vm/stored/stored-writer.ts';
import type { OuterBinding } from '../script/binding.ts';
import type { PrivateDeclaration } from '../script/private-declaration.ts';
import type { FunctionOutline } from './function-outline.ts';
import { bindingKinds, functionKinds, privateKinds, scopeKinds } from './outline-choices.ts';

export function writeOutline(outline: FunctionOutline, to: StoredWriter): void {
  const { kind, strict, usesThis, usesSuper, name, className } = outline;
  to.integer(functionKinds.indexOf(kind));
  to.integer(Number(strict) + 2 * Number(usesThis) + 4 * Number(usesSuper));
  to.optionalText(name);
  to.optionalText(className);
  to.list([...outline.free], ([free, binding]) => {
    to.text(free);
    writeBinding(binding, to);
  });
  to.list([...outline.privateNames], ([own, declaration]) => {
    to.text(own);
    writeDeclaration(declaration, to);
  });
}

/** 0 for a name that no scope declares. */
function writeBinding(binding: OuterBinding | undefined, to: StoredWriter): void {
  to.integer(binding ? bindingKinds.indexOf(binding.kind) + 1 : 0);
  if (!binding) return;
  const { from, initializations, assignments, scope } = binding;
  to.optionalText(from);
  to.integer(initializations);
  to.integer(assignments);
  const flags = Number(scope.seesEval) + 2 * Number(scope.aliasesArguments);
  to.integer(flags + 4 * scopeKinds.indexOf(scope.kind));
}

function writeDeclaration(declaration: PrivateDeclaration | undefined, to: StoredWriter): void {
  to.integer(declaration ? privateKinds.indexOf(declaration.kind) + 1 : 0);
  if (!declaration) return;
  to.optionalText(declaration.owner);
  to.integer(Number(declaration.isStatic));
}
