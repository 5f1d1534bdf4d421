import type { Program } from '../../../runtime/program/program.ts';
import type { Choices } from '../../programs/choices.ts';
import type { MemoryOptions } from '../../programs/memory-options.ts';
import type { Steps } from '../../programs/steps.ts';
import type { Pass, PassContext, Staged } from './pass.ts';

/** The result of a pass and the choices it made. */
interface Known {
  readonly after: Staged;
  readonly choices: Choices | undefined;
}

/**
 * Pass results shared by the candidates of one compilation. Candidates differ in the memory options of single passes,
 * so most start with the same passes on the same program.
 */
export class SharedPasses {
  readonly #known = new WeakMap<Program, Map<string, Known>>();

  /**
   * Returns the result of the pass, computed once per program and setting of the memory options that the pass may read.
   */
  *after(pass: Pass, staged: Staged, context: PassContext): Steps<Staged> {
    // Choices of an earlier compilation belong to the candidate it used: there is no other candidate.
    if (context.choices?.areKnown) return yield* stepsOf(pass, staged, context);
    const ofProgram = this.#known.get(staged.program) ?? new Map<string, Known>();
    this.#known.set(staged.program, ofProgram);
    const key = keyOf(pass, context);
    let known = ofProgram.get(key);
    if (!known) {
      const choices = context.choices?.candidate();
      const after = yield* stepsOf(pass, staged, choices ? { ...context, choices } : context);
      known = { after, choices };
      ofProgram.set(key, known);
    }
    if (known.choices) context.choices!.take(known.choices);
    return known.after;
  }
}

function* stepsOf(pass: Pass, staged: Staged, context: PassContext): Steps<Staged> {
  const run = pass.run(staged, context);
  return Symbol.iterator in run ? yield* run : run;
}

/** A pass reads the memory option of the same name, and whether bytes are preferred or limited. */
function keyOf({ name }: Pass, { stage, memory }: PassContext): string {
  const option = name in memory ? memory[name as keyof MemoryOptions] : null;
  return `${stage} ${name} ${option} ${memory.prefer} ${memory.budget}`;
}
