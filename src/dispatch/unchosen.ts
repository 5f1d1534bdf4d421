import { eachOutput } from '../traces/optional-outputs.ts';
import type { Recipe, TraceResult } from '../traces/trace-result.ts';
import { compileRecipe, type RecipeReader, type RunValues } from './materialize/materialize.ts';

/** Frees outputs of a run that belong only to options that weren't chosen. */
export function compileUnchosen(result: TraceResult): ((values: RunValues) => void) | undefined {
  const { optional } = result;
  if (optional.length === 0) return undefined;
  const readers = new Map<Recipe, RecipeReader>();
  return (values) => {
    const held = new Set<number>();
    const chosen = (choice: Recipe & { kind: 'choice' }): readonly Recipe[] => {
      let which = readers.get(choice);
      if (!which) {
        which = compileRecipe(choice.which);
        readers.set(choice, which);
      }
      return [choice.options[which(values) as number]!];
    };
    eachOutput(result, chosen, (output) => held.add(output));
    const chosenTensors = new Set([...held].map((output) => values.outputs[output]));
    for (const output of optional) {
      const tensor = values.outputs[output]!;
      const isNeeded = held.has(output) || chosenTensors.has(tensor);
      // Inputs of the run remain with their owners.
      if (!isNeeded && !values.inputs.includes(tensor)) tensor.dispose();
    }
  };
}
