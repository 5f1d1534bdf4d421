/** Returns the text in a `data:` URL; undefined for any other URL. */
export function textOfDataUrl(url: string): string | undefined {
  const parts = /^data:[^,]*?(;base64)?,(.*)$/s.exec(url);
  if (!parts) return undefined;
  const body = parts[2]!;
  if (!parts[1]) return decodeURIComponent(body);
  return new TextDecoder().decode(Uint8Array.from(atob(body), (char) => char.charCodeAt(0)));
}
