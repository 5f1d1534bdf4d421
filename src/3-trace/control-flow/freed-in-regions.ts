/** Graphs that a branch or loop has freed and that its results would continue. */

import { losingHistory } from '../../../runtime/autograd/lost-history.ts';
import type { OpRecord } from '../../../runtime/ops/record/define-op.ts';
import type { ProgramBuilder } from '../../../runtime/program/builder.ts';
import { whileOp } from '../../../runtime/program/control-ops.ts';
import type { GradNode } from '../../../runtime/tensor/grad-node.ts';
import type { Tensor } from '../../../runtime/tensor/tensor.ts';
import { ControlNode } from '../../regions/control-node.ts';
import { GraphBreak } from '../../traces/graph-break.ts';
import type { Site } from '../state/autograd-state.ts';
import { freedNode, isLeaf, nodesBelow } from '../state/recorded-graph.ts';
import type { FinishedRegion } from '../state/region-builder.ts';
import type { Tracer } from '../state/tracer.ts';

/**
 * The state of a value's graph: there is none, it is intact, or a backward has freed it, with a freed node. 'mixed' with
 * a freed node of some path, if the paths differ.
 */
type Graph = 'none' | 'intact' | Freed;

interface Freed {
  readonly kind: 'freed' | 'mixed';
  readonly node: GradNode;
}

/** Results of a branch or loop by their index, with a freed node below them. */
type FreedResults = ReadonlyMap<number, GradNode>;

/**
 * Returns the results whose graph is freed on all paths that give them one, and those whose graph is freed on some of
 * these paths only.
 */
export function freedResults(
  t: Tracer,
  op: OpRecord,
  inputs: readonly Tensor[],
  regions: readonly FinishedRegion[],
): { readonly freed: FreedResults; readonly mixed: FreedResults } {
  const freed = new Map<number, GradNode>();
  const mixed = new Map<number, GradNode>();
  const builders = [t.builder, ...regions.map(({ region }) => region.builder)];
  if (builders.every(({ freedNodes }) => freedNodes.isEmpty)) return { freed, mixed };
  const graphs = op === whileOp ? loopGraphs(t, inputs, regions[1]!) : branchGraphs(t, regions);
  for (const [i, graph] of graphs.entries()) {
    if (typeof graph !== 'string') (graph.kind === 'freed' ? freed : mixed).set(i, graph.node);
  }
  return { freed, mixed };
}

/** Has backward find the graphs of these results freed, too. */
export function loseFreed(
  { freedNodes }: ProgramBuilder,
  results: readonly Tensor[],
  freed: FreedResults,
): void {
  freedNodes.note([...lost(results, freed)].map(([node]) => node));
}

/**
 * Whether differentiating these results fails is data-dependent: doing so in this trace ends it there, and handing them
 * to the caller ends it at the backward that frees their graphs.
 */
export function loseMixed(t: Tracer, results: readonly Tensor[], mixed: FreedResults): void {
  const { watched } = t.autograd;
  for (const [node, below] of lost(results, mixed)) {
    t.builder.freedNodes.notePossibly([node]);
    watched.set(node, siteBelow(t, below));
  }
}

/** Notes for each result which backward has freed its graph, for branches and loops around that mix it with others. */
export function noteSites(t: Tracer, results: readonly Tensor[], freed: FreedResults): void {
  for (const [i, below] of freed) {
    const { gradEdge } = results[i]!;
    const site = t.autograd.watched.get(below);
    if (gradEdge && site) t.autograd.watched.set(gradEdge.node, site);
  }
}

function siteBelow(t: Tracer, freed: GradNode): Site {
  const site = t.autograd.watched.get(freed);
  if (site) return site;
  const what = 'a branch or loop returns a tensor whose graph has been freed on some paths';
  throw new GraphBreak('branch-gradient', what);
}

/** Puts a node before each of these results, which names the op below it. */
function* lost(
  results: readonly Tensor[],
  freed: FreedResults,
): Generator<readonly [lost: GradNode, below: GradNode]> {
  for (const [i, below] of freed) {
    const result = results[i]!;
    if (!result.gradEdge) continue;
    losingHistory(below instanceof ControlNode ? 'a branch or loop' : below.name)(result, [result]);
    yield [result.gradEdge!.node, below];
  }
}

function branchGraphs(t: Tracer, regions: readonly FinishedRegion[]): Graph[] {
  const paths = regions.map((each) => each.outputs.map((output) => graphOf(t, each, output)));
  return paths[0]!.map((_, i) => paths.map((path) => path[i]!).reduce(joined));
}

/** A later iteration may begin with the results of an earlier one, so this repeats until nothing changes. */
function loopGraphs(t: Tracer, inputs: readonly Tensor[], body: FinishedRegion): Graph[] {
  const { explicitInputs } = body.region;
  const starts = body.outputs.map((_, i) => outerGraph(t, inputs[i]!));
  let graphs: readonly Graph[] = starts;
  for (;;) {
    const carried = (input: Tensor): Graph => {
      const index = explicitInputs.indexOf(input);
      return graphs[index] ?? (index < 0 ? 'intact' : outerGraph(t, inputs[index]!));
    };
    const next = body.outputs.map((output, i) =>
      joined(graphs[i]!, graphOf(t, body, output, carried)),
    );
    if (next.every((graph, i) => kindOf(graph) === kindOf(graphs[i]!))) return next;
    graphs = next;
  }
}

function graphOf(
  t: Tracer,
  { region }: FinishedRegion,
  output: Tensor,
  carried?: (input: Tensor) => Graph,
): Graph {
  if (!output.requiresGrad) return 'none';
  const freed = freedNode(output, region.builder);
  if (freed) return { kind: 'freed', node: freed };
  const below: Graph[] = ['intact'];
  for (const node of nodesBelow(output)) {
    if (!isLeaf(node)) {
      if (region.builder.freedNodes.mayBeFreed(node)) below.push({ kind: 'mixed', node });
      continue;
    }
    if (node.traced?.builder !== region.builder) continue;
    const outer = region.capturedAs(node);
    const graph = outer ? outerGraph(t, outer) : (carried?.(node) ?? 'intact');
    if (typeof graph !== 'string') below.push(graph);
  }
  // One freed graph below suffices for backward to fail.
  return below.find((each) => kindOf(each) === 'freed') ?? below.at(-1)!;
}

function outerGraph({ builder }: Tracer, tensor: Tensor): Graph {
  if (!tensor.requiresGrad) return 'none';
  const freed = freedNode(tensor, builder);
  return freed ? { kind: 'freed', node: freed } : 'intact';
}

function joined(one: Graph, other: Graph): Graph {
  if (one === 'none') return other;
  if (other === 'none' || kindOf(one) === kindOf(other)) return one;
  const { node } = typeof one === 'string' ? (other as Freed) : one;
  return { kind: 'mixed', node };
}

function kindOf(graph: Graph): string {
  return typeof graph === 'string' ? graph : graph.kind;
}
