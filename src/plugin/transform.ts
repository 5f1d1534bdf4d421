import remapping, { type EncodedSourceMap } from '@jridgewell/remapping';
import type { AnyNode, Comment, Program } from 'acorn';
import MagicString from 'magic-string';
import { markerProperty } from '../1-capture/marked/entry-marker.ts';
import { analyzeScript } from '../1-capture/script/analyze-script.ts';
import type { FunctionFacts } from '../1-capture/script/binding.ts';
import type { StoredFunctions } from '../1-capture/stored/stored-functions.ts';
import { parse } from '../vm/syntax/parse.ts';
import { embeddedSource } from './embedded-source.ts';
import { excludedRanges } from './excluded.ts';
import { type PluginOptions, pathOf, shownFile } from './options.ts';
import { canBeProbed, type ProbeText, probeText } from './probe-text.ts';
import type { PrintableSourceMap, SourceMapData } from './source-map.ts';
import { storedFunctions } from './stored-functions.ts';

export interface Transformed {
  readonly code: string;
  /** To the user's file, if the incoming map was given. */
  readonly map: PrintableSourceMap;
  /** The source map of this step alone, for bundlers that combine the maps of their plugins themselves. */
  readonly step: PrintableSourceMap;
  /** Returns the functions with probes in lowered form. */
  lowered(): StoredFunctions;
}

/**
 * In: a module of plain JavaScript, and the map that led to it. Out: the module with a probe at the entry of every
 * function, and its own text; undefined if there is nothing to do (no functions, already instrumented, excluded).
 * Throws the parser's SyntaxError. Guarantees: behaviour is unchanged, no line moves, and nothing is allocated unless a
 * capture probes.
 */
export function transform(
  code: string,
  id: string,
  options: PluginOptions = {},
  incoming?: SourceMapData | string,
): Transformed | undefined {
  if (code.includes(`.${markerProperty}`)) return undefined;
  const { ast, comments, commonJs } = parseModule(code);
  const script = analyzeScript(ast);
  const excluded = excludedRanges(code, ast, comments, incoming);
  const functions = script.functions.filter(
    (facts) =>
      canBeProbed(facts) &&
      !excluded.some(({ start, end }) => start <= facts.node.start && facts.node.end <= end),
  );
  if (functions.length === 0) return undefined;

  const path = pathOf(id);
  const added = { probe: unused('__tostatic', code), source: unused('__tostaticSource', code) };
  const text = new MagicString(code, { filename: path });
  for (const facts of functions) insertProbe(text, facts, probeText(facts, script, added), code);
  const from = JSON.stringify(options.probe ?? 'tostatic/probe');
  const { at, separator } = endOfDirectives(ast.body, headEnd(code), code);
  const found = commonJs
    ? `const ${added.probe}=${sharedProbe};`
    : `import{probe as ${added.probe}}from${from};`;
  text.appendLeft(at, separator + found);
  const file = shownFile(path, options.root);
  const content = { withContent: options.sourceText ?? true, commonJs };
  const source = embeddedSource(code, file, incoming, content);
  // Hoisted, so that it exists for functions that run before the module does (import cycles).
  text.append(`\nfunction ${added.source}(){return${JSON.stringify(source)}}\n`);

  const generated = text.generateMap({ source: path, includeContent: true, hires: 'boundary' });
  const step = remapping(generated as EncodedSourceMap, () => null);
  const map = incoming
    ? remapping([generated as EncodedSourceMap, incoming as EncodedSourceMap | string], () => null)
    : step;
  return {
    code: text.toString(),
    map: map as PrintableSourceMap,
    step: step as PrintableSourceMap,
    lowered: () => storedFunctions(functions, ast, script, code),
  };
}

function insertProbe(
  text: MagicString,
  { node }: FunctionFacts,
  { test, hit }: ProbeText,
  code: string,
): void {
  const { body } = node;
  if (body.type === 'BlockStatement') {
    const { at, separator } = endOfDirectives(body.body, body.start + 1, code);
    // Bundlers that lower `using` put the disposal stack at the start of its block: the probe precedes it.
    const inner = body.body.some(declaresUsing);
    text.appendLeft(at, `${separator}if(${test})return ${hit};${inner ? '{' : ''}`);
    if (inner) text.appendLeft(body.end - 1, '}');
    return;
  }
  const sequence = body.type === 'SequenceExpression';
  text.appendLeft(body.start, `${test}?${hit}:${sequence ? '(' : ''}`);
  if (sequence) text.appendLeft(body.end, ')');
}

const declaresUsing = (node: AnyNode): boolean =>
  node.type === 'VariableDeclaration' && node.kind.endsWith('using');

/** Directives remain first; a missing semicolon is added, since code follows on the same line. */
function endOfDirectives(
  statements: Program['body'],
  start: number,
  code: string,
): { at: number; separator: string } {
  const last = statements.findLast(
    (statement) => statement.type === 'ExpressionStatement' && statement.directive !== undefined,
  );
  if (!last) return { at: start, separator: '' };
  return { at: last.end, separator: code[last.end - 1] === ';' ? '' : ';' };
}

/** After a hashbang, which needs its own line. */
function headEnd(code: string): number {
  if (!code.startsWith('#!')) return 0;
  const end = code.indexOf('\n');
  return end < 0 ? code.length : end + 1;
}

/** The code of `tostatic/probe`, for modules that cannot import it. */
const sharedProbe = 'globalThis[Symbol.for("tostatic.probe")]??={$tostatic:false,hit:()=>({})}';

interface ParsedModule {
  readonly ast: Program;
  readonly comments: readonly Comment[];
  readonly commonJs: boolean;
}

function parseModule(code: string): ParsedModule {
  const parsed = (sourceType: 'module' | 'script'): ParsedModule => {
    const comments: Comment[] = [];
    const ast = parse(code, {
      sourceType,
      ecmaVersion: 'latest',
      allowHashBang: true,
      allowReturnOutsideFunction: sourceType === 'script',
      onComment: comments,
    });
    return { ast, comments, commonJs: sourceType === 'script' };
  };
  let module: ParsedModule;
  try {
    module = parsed('module');
  } catch (error) {
    // Sloppy code, or a return outside functions: it may be CommonJS.
    if (!usesCommonJs(code)) throw error;
    return parsed('script');
  }
  const isModule = module.ast.body.some((node) => /^(Import|Export)/.test(node.type));
  return !isModule && usesCommonJs(code) ? parsed('script') : module;
}

const usesCommonJs = (code: string): boolean =>
  /\b(?:require\s*\(|module\s*\.\s*exports|exports\s*\.)/.test(code);

function unused(name: string, code: string): string {
  let found = name;
  for (let i = 1; code.includes(found); i++) found = `${name}${i}`;
  return found;
}
