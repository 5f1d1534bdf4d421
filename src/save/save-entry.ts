import { mapMake } from '../../runtime/entry/make.ts';
import { mapRecipe } from '../../runtime/entry/recipe.ts';
import { condBackwardOp, whileBackwardOp } from '../../runtime/program/control-ops.ts';
import type { PlannedSubgraph } from '../../runtime/program/plan.ts';
import { scalarTableIn } from '../../runtime/program/scalars.ts';
import type { GraphWriter } from '../../runtime/save/graph-format.ts';
import { isPrimitiveValue } from '../../runtime/save/primitive.ts';
import type { SavedMake, SavedRecipe } from '../../runtime/save/recipe.ts';
import type { SavedEffect, SavedEntry } from '../../runtime/save/saved-entry.ts';
import type { SavedGuard } from '../../runtime/save/saved-guard.ts';
import { Tensor } from '../../runtime/tensor/tensor.ts';
import type { Effect, Make, Recipe, TraceResult } from '../traces/trace-result.ts';
import { effectsOnElements } from './array-effects.ts';
import { notSavable } from './not-savable.ts';
import { elementsOf, savedNumber } from './save-guards.ts';
import type { SourceMapper } from './source-mapper.ts';

const ofClass = 'its result holds an object of a class';
const orderDiffers = 'the order of keys in its result is data-dependent';

/**
 * Converts one trace, with all guards of its entry, to data for a file. Throws CaptureError for anything that isn't
 * data.
 */
export class EntryWriter {
  readonly #name: string;
  readonly #trace: TraceResult;
  readonly #mapper: SourceMapper;

  constructor(name: string, trace: TraceResult, mapper: SourceMapper) {
    this.#name = name;
    this.#trace = trace;
    this.#mapper = mapper;
  }

  entry(
    guards: readonly SavedGuard[],
    planned: PlannedSubgraph | null,
    graphs: GraphWriter,
  ): SavedEntry {
    const {
      outcome,
      inputs,
      needsGrad,
      numbers,
      makes,
      reads,
      randomNumbers,
      optional,
      lost,
      same,
    } = this.#trace;
    if (outcome.kind !== 'return')
      throw notSavable(
        this.#name,
        `its graph ends: ${outcome.record.detail}`,
        'capture it with fullGraph: true, which names the line and what to do',
      );
    if (planned && differentiatesOuter(planned))
      throw notSavable(this.#name, 'a branch or loop undoes a branch or loop around it');
    const mode = this.#trace.guards.find((guard) => guard.kind === 'gradMode');
    const takesNumbers = planned !== null && scalarTableIn(planned) !== undefined;
    return {
      gradMode: mode?.kind === 'gradMode' ? mode.enabled : true,
      guards,
      inputs: (planned ? inputs : []).map((source, i) => ({
        place: this.#mapper.of(source),
        requiresGrad: needsGrad[i]!,
      })),
      numbers: takesNumbers ? numbers.map((source) => this.#mapper.of(source)) : [],
      graph: planned && graphs.add(planned),
      makes: makes.map((make) => this.#make(make)),
      effects: effectsOnElements(this.#trace, this.#mapper).map((effect) => this.#effect(effect)),
      result: this.#recipe(outcome.value),
      reads,
      randomNumbers,
      optional,
      spent: planned ? lost : [],
      same: planned ? same : [],
    };
  }

  #refuse(what: string, remedy?: string): never {
    throw notSavable(this.#name, what, remedy);
  }

  readonly #recipe = (recipe: Recipe): SavedRecipe =>
    mapRecipe(recipe, (leaf): SavedRecipe => {
      switch (leaf.kind) {
        case 'constant': {
          const { value } = leaf;
          if (!isPrimitiveValue(value)) return this.#refuse('a symbol is among its results');
          return { kind: 'constant', value };
        }
        case 'held': {
          const { value } = leaf;
          if (!(value instanceof Tensor))
            return this.#refuse('its result holds a pre-existing object');
          return { kind: 'source', source: this.#mapper.of({ ...leaf, name: 'constant' }) };
        }
        case 'source':
          return { kind: 'source', source: this.#mapper.of(leaf.source) };
        case 'number':
          return { kind: 'number', expr: savedNumber(leaf.expr, this.#mapper, this.#trace.sizes) };
        case 'absent':
          return this.#refuse(
            'an element or a property of its result may be missing',
            'return the same elements and properties on every path, such as zeros where there is nothing',
          );
      }
    });

  readonly #item = (recipe: Recipe | null): SavedRecipe | null => recipe && this.#recipe(recipe);

  #make(make: Make): SavedMake {
    switch (make.kind) {
      case 'array':
        if (make.isFrozen) return this.#refuse('its result holds a frozen array');
        if (make.own) return this.#refuse(ofClass);
        if (make.named.length > 0) return this.#refuse('its result holds an array with names');
        break;
      case 'object':
        if (make.prototype !== undefined || make.errorType || make.traits)
          return this.#refuse(ofClass);
        if (make.order) return this.#refuse(orderDiffers);
        break;
      case 'collection':
        if (make.own) return this.#refuse(ofClass);
        if (make.order) return this.#refuse(orderDiffers);
        break;
      case 'list': {
        const { element } = make;
        if (element.kind === 'leaf') return { ...make, element };
        return this.#refuse('its result holds an array of arrays or objects that grew in a loop');
      }
      case 'extendedArray': {
        const { array, elements, isFrozen } = make;
        if (isFrozen) return this.#refuse('its result holds a frozen array');
        if (array.kind !== 'source') return this.#refuse('its result holds a copy of its state');
        const copied = elementsOf(array.source, this.#trace.inputs);
        const items = copied.map((source): Recipe => ({ kind: 'source', source }));
        return mapMake({ kind: 'array', elements: [...items, ...elements] }, this.#recipe);
      }
      default:
        return this.#refuse(`its result holds a ${make.kind}`);
    }
    return mapMake(make, this.#recipe);
  }

  #effect(effect: Effect): SavedEffect {
    switch (effect.kind) {
      case 'setProperty': {
        const place = this.#mapper.ofProperty(effect.object, effect.key);
        return { kind: 'set', place, value: this.#recipe(effect.value) };
      }
      case 'deleteProperty':
        if (!this.#mapper.isArgument(effect.object))
          return this.#refuse(`it deletes ${String(effect.key)}`);
        return { kind: 'delete', place: this.#mapper.ofProperty(effect.object, effect.key) };
      case 'fillArray': {
        if (!this.#mapper.isArgument(effect.array)) {
          return this.#refuse('it changes the elements of a pre-existing array');
        }
        if (effect.list) return this.#refuse('it changes the elements of a pre-existing array');
        const from = effect.from === 0 ? 'start' : 'end';
        const place = this.#mapper.of(effect.array);
        return { kind: 'fill', place, from, items: effect.items.map(this.#item) };
      }
      case 'orderKeys':
        return this.#refuse('the order of the keys of a pre-existing object is data-dependent');
      case 'requiresGrad':
      case 'retainGrad':
      case 'setGrad':
        return this.#refuse(
          'it changes which tensors gradients are kept for',
          'freeze, thaw and call retainGrad() outside of the function, or thaw before it returns',
        );
      case 'seed':
        return this.#refuse('it calls seed()');
      case 'drawNumbers':
        return { kind: 'draw', count: this.#recipe(effect.count) };
      case 'changeCollection':
      case 'fillCollection':
        return this.#refuse('it changes a pre-existing Map or Set');
      case 'assignHost':
        return this.#refuse(`it changes a pre-existing ${effect.type}`);
      case 'keep':
        if (effect.tensor.kind !== 'output')
          return this.#refuse('it calls keep() for an argument, or for elements of an array');
        return { kind: 'keepOutput', output: effect.tensor.index };
      case 'dispose':
        if (effect.when) return this.#refuse('it disposes of a tensor on one path only');
        return { kind: 'dispose', place: this.#mapper.of(effect.tensor) };
      case 'disposeOutput': {
        const { output, when } = effect;
        const mayBeGiven =
          output.kind !== 'output' ||
          this.#trace.same.some((each) => each.mayBeInput && each.output === output.index);
        if (when || mayBeGiven) return this.#refuse('it disposes of a tensor on one path only');
        return { kind: 'disposeOutput', output: output.index };
      }
    }
  }
}

/**
 * Whether a region contains the backward of a control op of the surrounding program, whose tape belongs to that
 * program.
 */
function differentiatesOuter({ forward, backward }: PlannedSubgraph): boolean {
  const steps = [...forward.steps, ...(backward?.plan.steps ?? [])];
  const tapes = new Set(steps.map(({ op }) => op.outputs.at(-1)));
  return steps.some(({ op, regions = [] }) => {
    const isBackward = op.op === condBackwardOp || op.op === whileBackwardOp;
    return isBackward ? !tapes.has(op.inputs[0]) : regions.some(differentiatesOuter);
  });
}
