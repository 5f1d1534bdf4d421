/** A generator may have no end. */
const mostValues = 100;

/** Waits for a call; of a generator, which runs as its values are asked for, asks for at most 100. */
export async function finishCall(result: unknown): Promise<void> {
  const value: unknown = await result;
  if (!isGenerator(value)) return;
  let count = 0;
  for await (const _ of value) if (++count === mostValues) break;
}

function isGenerator(value: unknown): value is AsyncGenerator | Generator {
  const kind = Object.prototype.toString.call(value);
  return kind === '[object Generator]' || kind === '[object AsyncGenerator]';
}
