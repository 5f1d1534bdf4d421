const [quote, backslash] = [0x22, 0x5c];
const [openList, closeList, openObject, closeObject] = [0x5b, 0x5d, 0x7b, 0x7d];

/** Whether lists and objects of a UTF-8 JSON text are nested more than `limit` deep. Allocates nothing. */
export function isNestedDeeper(text: Uint8Array, limit: number): boolean {
  let depth = 0;
  let isInString = false;
  for (let i = 0; i < text.length; i++) {
    const letter = text[i];
    if (isInString) {
      if (letter === backslash) i++;
      else if (letter === quote) isInString = false;
    } else if (letter === quote) isInString = true;
    else if (letter === openList || letter === openObject) {
      depth++;
      if (depth > limit) return true;
    } else if (letter === closeList || letter === closeObject) depth--;
  }
  return false;
}
