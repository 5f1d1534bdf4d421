import type { Class, Expression, Pattern, Statement } from 'acorn';
import { invariant } from '../../runtime/errors/invariant.ts';
import { usesSuper } from '../vm/bytecode/arrow-uses.ts';
import type { Code, SourceText } from '../vm/bytecode/code.ts';
import { nextCodeId } from '../vm/bytecode/code-id.ts';
import type { Reg, Span } from '../vm/bytecode/instructions.ts';
import { lowerClass } from './classes.ts';
import { CodeBuilder, type Label } from './code-builder.ts';
import { lowerCondition } from './condition.ts';
import { lowerEffect, lowerExpression } from './expressions.ts';
import { endOfBody } from './function-end.ts';
import { JumpTargets } from './jump-targets.ts';
import type { InnerFunction, Lowering, Store } from './lowering.ts';
import { lowerTarget, valueRegister } from './patterns.ts';
import type { Analysis, FunctionScope } from './scopes/bindings.ts';
import { lowerStatement, lowerStatements } from './statements.ts';
import {
  expectedArguments,
  type FunctionNode,
  isAnonymousDefinition,
  isFunctionNode,
  spanOf,
} from './syntax/nodes.ts';
import { Variables } from './variables.ts';

/** Own fields, since a page may define one of these names on `Object.prototype`. */
const plainFunction = {
  nameFrom: undefined,
  home: undefined,
  parent: undefined,
  prologue: undefined,
  body: undefined,
  parameterCount: undefined,
};

/** In: an analyzed function. Out: its code, including the codes of its inner functions. */
export function lowerAnalysed(
  analyzed: InnerFunction,
  source: SourceText,
  analysis: Analysis,
): Code {
  const fn = { ...plainFunction, ...analyzed };
  const { node, kind, name } = fn;
  const id = nextCodeId();
  const scope = analysis.functions.get(node);
  invariant(scope, 'the function was analysed');
  const code = new CodeBuilder();
  const entry = { start: node.start, end: node.start };
  const variables = new Variables(code, analysis, scope, entry);
  const traits = {
    kind,
    isAsync: isFunctionNode(node) && node.async,
    isGenerator: isFunctionNode(node) && node.generator,
  };
  const l = new FunctionLowering(code, variables, analysis, source, traits);
  fn.prologue?.(l);
  if (fn.body) fn.body(l);
  else {
    invariant(isFunctionNode(node), 'only functions have a text of their own');
    lowerFunctionText(l, node, scope);
  }
  const { registerCount, registerNames, instructions, regions, spans, inner } = code.finish();
  // Copied field by field: creating an object of this size with a spread is twenty times slower.
  return {
    id,
    name,
    source,
    span: spanOf(node),
    kind,
    isAsync: traits.isAsync,
    isGenerator: traits.isGenerator,
    parameterCount:
      fn.parameterCount ?? (isFunctionNode(node) ? expectedArguments(node.params) : 0),
    strict: scope.strict,
    outerCells: scope.outer.map((binding) => binding.name),
    registerCount,
    registerNames,
    instructions,
    regions,
    spans,
    inner,
  };
}

function lowerFunctionText(l: Lowering, node: FunctionNode, scope: FunctionScope): void {
  const { code, variables } = l;
  const entry = { start: node.start, end: node.start };
  variables.enter(node);
  if (!takeArguments(l, node, scope, entry)) lowerParameters(l, node.params);
  if (node.body.type !== 'BlockStatement') {
    l.targets.return(l.expression(node.body), spanOf(node.body));
    return;
  }
  variables.enter(node.body);
  for (const { from, to } of scope.copies) {
    const mark = code.mark();
    variables.store(to, variables.load(from, entry), entry);
    code.release(mark);
  }
  if (l.isGenerator) code.emit({ op: 'generatorStart' }, entry);
  l.statements(node.body.body);
  endOfBody(l, node.body.end);
}

/**
 * Creates the variable `arguments`. Returns true if the parameters share its elements, and are therefore bound as
 * well.
 */
function takeArguments(l: Lowering, node: FunctionNode, scope: FunctionScope, span: Span): boolean {
  if (!scope.arguments) return false;
  const mark = l.code.mark();
  const dst = l.code.temp();
  const names = node.params.flatMap((param) => (param.type === 'Identifier' ? [param.name] : []));
  const mapped = !scope.strict && names.length === node.params.length;
  l.code.emit({ op: 'arguments', dst, mapped }, span);
  if (mapped) l.variables.shareWithArguments(node, names, dst, span);
  l.variables.store(scope.arguments, dst, span);
  l.code.release(mark);
  return mapped;
}

function lowerParameters(l: Lowering, params: readonly Pattern[]): void {
  for (const [index, param] of params.entries()) {
    // An unused argument needs no guard.
    if (param.type === 'Identifier' && l.variables.isUnused(param)) continue;
    const mark = l.code.mark();
    const span = spanOf(param);
    const target = param.type === 'RestElement' ? param.argument : param;
    const dst = valueRegister(l, target);
    if (param.type === 'RestElement') l.code.emit({ op: 'restArgs', dst, from: index }, span);
    else l.code.emit({ op: 'arg', dst, index }, span);
    l.target(target, 'declare')(dst, span, target);
    l.code.release(mark);
  }
}

class FunctionLowering implements Lowering {
  readonly kind: Code['kind'];
  readonly isAsync: boolean;
  readonly isGenerator: boolean;
  readonly targets: JumpTargets;
  chainEnd: Label | undefined;

  constructor(
    readonly code: CodeBuilder,
    readonly variables: Variables,
    readonly analysis: Analysis,
    private readonly source: SourceText,
    { kind, isAsync, isGenerator }: Pick<Code, 'kind' | 'isAsync' | 'isGenerator'>,
  ) {
    this.kind = kind;
    this.isAsync = isAsync;
    this.isGenerator = isGenerator;
    this.targets = new JumpTargets(code, (value, span) => leaveFunction(this, value, span));
  }

  expression(node: Expression, dst?: Reg): Reg {
    return lowerExpression(this, node, dst);
  }

  operand(node: Expression, until: number): Reg {
    return this.stable(this.expression(node), { start: node.end, end: until }, spanOf(node));
  }

  stable(register: Reg, within: Span, span: Span): Reg {
    if (!this.variables.isWrittenWithin(register, within)) return register;
    const copy = this.code.temp();
    this.code.emit({ op: 'move', dst: copy, src: register }, span);
    return copy;
  }

  named(node: Expression, name: string | Reg | undefined, dst?: Reg): Reg {
    return lowerNamed(this, node, name, dst);
  }

  effect(node: Expression): void {
    lowerEffect(this, node);
  }

  condition(node: Expression, target: Label, sense: boolean): void {
    lowerCondition(this, node, target, sense);
  }

  statement(node: Statement): void {
    lowerStatement(this, node);
  }

  statements(nodes: readonly Statement[]): void {
    lowerStatements(this, nodes);
  }

  target(node: Pattern, how: 'assign' | 'declare'): Store {
    return lowerTarget(this, node, how);
  }

  closure(fn: InnerFunction, dst?: Reg): Reg {
    return lowerClosure(this, fn, this.source, dst);
  }

  classOf(node: Class, name: string | Reg, dst?: Reg): Reg {
    return lowerClass(this, node, name, dst);
  }
}

/** Emits a return. A constructor returns its `this` on every normal completion, outside of all handlers. */
function leaveFunction(l: Lowering, value: Reg, span: Span): void {
  const { thisBinding } = l.variables.fn;
  const result = (returned: Reg): Reg => {
    if (thisBinding) {
      return l.code.intrinsic('constructed', [returned, l.variables.load(thisBinding, span)], span);
    }
    if (l.kind !== 'constructor') return returned;
    const self = l.code.temp();
    l.code.emit({ op: 'this', dst: self }, span);
    return l.code.intrinsic('constructedBase', [returned, self], span);
  };
  l.code.within(undefined, () => {
    const mark = l.code.mark();
    l.code.emit({ op: 'return', src: result(value) }, span);
    l.code.release(mark);
  });
}

function lowerNamed(
  l: Lowering,
  node: Expression,
  name: string | Reg | undefined,
  dst: Reg | undefined,
): Reg {
  if (name === undefined || !isAnonymousDefinition(node)) return l.expression(node, dst);
  if (node.type === 'ClassExpression') return l.classOf(node, name, dst);
  const kind = node.type === 'ArrowFunctionExpression' ? 'arrow' : 'function';
  const naming = typeof name === 'string' ? { name } : { name: '', nameFrom: name };
  return l.closure({ node, kind, ...naming }, dst);
}

function lowerClosure(
  l: Lowering,
  fn: InnerFunction,
  source: SourceText,
  dst = l.code.temp(),
): Reg {
  const { node, name, nameFrom, home, parent } = { ...plainFunction, ...fn };
  const span: Span = spanOf(node);
  const inner = lowerAnalysed(fn, source, l.analysis);
  const code = l.code.inner.push(inner) - 1;
  const mark = l.code.mark();
  // A class keeps its name in a separate scope.
  const self = isFunctionNode(node) ? l.analysis.selfNames.get(node) : undefined;
  const selfCell = self?.captured ? l.variables.cell(self) : undefined;
  if (selfCell !== undefined) l.code.emit({ op: 'newCell', dst: selfCell, name }, span);
  const outer = l.analysis.functions.get(node)!.outer;
  const cells = outer.map((binding) => l.variables.cell(binding));
  const making = { dst, code, cells, name, ...(nameFrom === undefined ? {} : { nameFrom }) };
  if (parent !== undefined) l.code.emit({ op: 'class', ...making, parent }, span);
  else {
    const method = home !== undefined && usesSuper(inner) ? { home } : {};
    l.code.emit({ op: 'closure', ...making, ...method }, span);
  }
  if (selfCell !== undefined) {
    l.code.emit({ op: 'storeCell', cell: selfCell, src: dst, name }, span);
  }
  l.code.release(mark);
  return dst;
}
