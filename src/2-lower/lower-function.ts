import type { Expression, Pattern } from 'acorn';
import { invariant } from '../../runtime/errors/invariant.ts';
import type { Code, SourceText } from '../bytecode/code.ts';
import type { Reg, Span } from '../bytecode/instructions.ts';
import type { Analysis } from './bindings.ts';
import { CodeBuilder } from './code-builder.ts';
import { lowerCondition } from './condition.ts';
import { lowerEffect, lowerExpression } from './expressions.ts';
import { hasUseStrict } from './find-refusal.ts';
import { JumpTargets } from './jump-targets.ts';
import type { InnerFunction, Lowering } from './lowering.ts';
import { expectedArguments, type FunctionNode, isAnonymousFunction, spanOf } from './nodes.ts';
import { lowerTarget, valueRegister } from './patterns.ts';
import { lowerStatement, lowerStatements } from './statements.ts';
import { Variables } from './variables.ts';

/** What the place of a function says about it. */
export interface FunctionPlace {
  readonly node: FunctionNode;
  readonly kind: Code['kind'];
  readonly name: string;
  readonly source: SourceText;
  readonly strict: boolean;
}

let nextId = 0;

/** In: an analysed function. Out: its code, with the codes of the functions inside it. */
export function lowerAnalysed(place: FunctionPlace, analysis: Analysis): Code {
  const { node, kind, name, source } = place;
  const id = nextId++;
  const strict = place.strict || hasUseStrict(node);
  const scope = analysis.functions.get(node);
  invariant(scope, 'the function was analysed');
  const code = new CodeBuilder();
  const entry = { start: node.start, end: node.start };
  const variables = new Variables(code, analysis, scope, entry);
  const l = makeLowering(code, variables, analysis, { source, strict });

  variables.enter(node);
  if (scope.arguments) {
    const dst = code.temp();
    code.emit({ op: 'arguments', dst }, entry);
    variables.store(scope.arguments, dst, entry);
  }
  lowerParameters(l, node.params);
  if (node.body.type === 'BlockStatement') {
    variables.enter(node.body);
    for (const { from, to } of scope.copies) {
      const mark = code.mark();
      variables.store(to, variables.load(from, entry), entry);
      code.release(mark);
    }
    l.statements(node.body.body);
    const end = { start: node.body.end, end: node.body.end };
    const src = code.temp();
    code.emit({ op: 'const', dst: src, value: undefined }, end);
    code.emit({ op: 'return', src }, end);
  } else {
    const src = l.expression(node.body);
    code.emit({ op: 'return', src }, spanOf(node.body));
  }
  return code.finish({
    id,
    name,
    source,
    span: spanOf(node),
    kind,
    isAsync: node.async,
    parameterCount: expectedArguments(node.params),
    strict,
    outerCells: scope.outer.map((binding) => binding.name),
  });
}

function lowerParameters(l: Lowering, params: readonly Pattern[]): void {
  for (const [index, param] of params.entries()) {
    // An argument that nobody reads needs no guard.
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

function makeLowering(
  code: CodeBuilder,
  variables: Variables,
  analysis: Analysis,
  place: Pick<FunctionPlace, 'source' | 'strict'>,
): Lowering {
  const l: Lowering = {
    code,
    variables,
    analysis,
    targets: new JumpTargets(code),
    chainEnd: undefined,
    expression: (node, dst) => lowerExpression(l, node, dst),
    operand: (node, until) =>
      l.stable(l.expression(node), { start: node.end, end: until }, spanOf(node)),
    stable(register, within, span) {
      if (!variables.isWrittenWithin(register, within)) return register;
      const copy = code.temp();
      code.emit({ op: 'move', dst: copy, src: register }, span);
      return copy;
    },
    named(node, name, dst) {
      if (!isAnonymousFunction(node)) return l.expression(node, dst);
      return l.closure({ node, kind: anonymousKind(node), name }, dst);
    },
    effect: (node) => lowerEffect(l, node),
    condition: (node, target, sense) => lowerCondition(l, node, target, sense),
    statement: (node) => lowerStatement(l, node),
    statements: (nodes) => lowerStatements(l, nodes),
    target: (node, how) => lowerTarget(l, node, how),
    closure: (fn, dst) => lowerClosure(l, fn, place, dst),
  };
  return l;
}

const anonymousKind = (node: Expression): Code['kind'] =>
  node.type === 'ArrowFunctionExpression' ? 'arrow' : 'function';

function lowerClosure(
  l: Lowering,
  fn: InnerFunction,
  place: Pick<FunctionPlace, 'source' | 'strict'>,
  dst = l.code.temp(),
): Reg {
  const { node, name, nameFrom } = fn;
  const span: Span = spanOf(node);
  const inner = lowerAnalysed({ ...place, node, kind: fn.kind, name }, l.analysis);
  const code = l.code.inner.push(inner) - 1;
  const mark = l.code.mark();
  const self = l.analysis.selfNames.get(node);
  const selfCell = self?.captured ? l.variables.cell(self) : undefined;
  if (selfCell !== undefined) l.code.emit({ op: 'newCell', dst: selfCell, name }, span);
  const outer = l.analysis.functions.get(node)!.outer;
  const cells = outer.map((binding) => l.variables.cell(binding));
  const named = nameFrom === undefined ? {} : { nameFrom };
  l.code.emit({ op: 'closure', dst, code, cells, name, ...named }, span);
  if (selfCell !== undefined) {
    l.code.emit({ op: 'storeCell', cell: selfCell, src: dst, name }, span);
  }
  l.code.release(mark);
  return dst;
}
