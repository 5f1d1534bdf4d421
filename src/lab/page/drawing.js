/** What a chart shows besides its lines: phases, what was there before, peaks. In canvas pixels. */

import { color, exactBytes, lineColorName } from './format.js';

/** Height of a row of phase names, in CSS pixels. */
export const laneHeight = 18;

/** Where [start, end] of the x axis is visible; null when nowhere. */
function visiblePart(plot, start, end) {
  const { left, width } = plot.bbox;
  const from = Math.max(left, plot.valToPos(start, 'x', true));
  const until = Math.min(left + width, plot.valToPos(end, 'x', true));
  return until > from ? { from, width: until - from } : null;
}

/** Text that starts at (left, middle), if it has room. */
function drawText({ ctx }, text, [left, middle], width, ink) {
  const ratio = devicePixelRatio;
  ctx.font = `${12 * ratio}px system-ui, sans-serif`;
  if (ctx.measureText(text).width + 12 * ratio > width) return;
  ctx.fillStyle = color(ink);
  ctx.textAlign = 'left';
  ctx.textBaseline = 'middle';
  ctx.fillText(text, left + 6 * ratio, middle);
}

/** Bands behind all lines, named above the chart. */
export function drawPhases(plot, labels, starts) {
  const { ctx, bbox } = plot;
  const lane = laneHeight * devicePixelRatio;
  ctx.save();
  labels.forEach((label, index) => {
    const part = visiblePart(plot, starts[index], starts[index + 1]);
    if (!part) return;
    // Neighbours differ, and each phase has its bar.
    ctx.fillStyle = color(index % 2 === 0 ? '--band' : '--grid');
    ctx.fillRect(part.from, bbox.top - lane, part.width, lane);
    if (index % 2 === 0) ctx.fillRect(part.from, bbox.top, part.width, bbox.height);
    drawText(plot, label, [part.from, bbox.top - lane / 2], part.width, '--ink');
  });
  ctx.restore();
}

/** Over time each line has phases of its own length: one row of them per line. */
export function drawLanes(plot, lines) {
  const { ctx, bbox } = plot;
  const ratio = devicePixelRatio;
  const lane = laneHeight * ratio;
  const height = lane - 2 * ratio;
  ctx.save();
  lines.forEach(({ line, index }, row) => {
    const top = bbox.top - (lines.length - row) * lane - 4 * ratio;
    // A step without marks is one phase.
    const phases = line.phases.length > 0 ? line.phases : [[line.name, 0]];
    phases.forEach(([label, start], phase) => {
      const end = phases[phase + 1]?.[1] ?? line.duration;
      const part = visiblePart(plot, start, end);
      if (!part) return;
      ctx.globalAlpha = 0.16;
      ctx.fillStyle = color(lineColorName(index));
      ctx.fillRect(part.from, top, Math.max(1, part.width - ratio), height);
      ctx.globalAlpha = 1;
      drawText(plot, label, [part.from, top + height / 2], part.width, lineColorName(index));
    });
  });
  ctx.restore();
}

/** What was allocated before and stays: the ground the lines stand on. */
export function drawBefore(plot, before, unit) {
  const { ctx, bbox } = plot;
  const ratio = devicePixelRatio;
  const y = plot.valToPos(before / unit.bytes, 'y', true);
  ctx.save();
  ctx.strokeStyle = color('--soft');
  ctx.setLineDash([4 * ratio, 4 * ratio]);
  ctx.beginPath();
  ctx.moveTo(bbox.left, y);
  ctx.lineTo(bbox.left + bbox.width, y);
  ctx.stroke();
  ctx.restore();
  const isRoomBelow = bbox.top + bbox.height - y > 24 * ratio;
  const middle = y + (isRoomBelow ? 12 : -12) * ratio;
  const text = `allocated before: ${exactBytes(before)}`;
  const from = bbox.left + bbox.width / 2;
  // No line of the grid runs through the label.
  ctx.font = `${12 * ratio}px system-ui, sans-serif`;
  ctx.fillStyle = color('--page');
  ctx.fillRect(from, middle - 8 * ratio, ctx.measureText(text).width + 12 * ratio, 16 * ratio);
  drawText(plot, text, [from, middle], bbox.width / 2, '--soft');
}

export function drawPeak(plot, [x, y], ink) {
  const { ctx, bbox } = plot;
  const ratio = devicePixelRatio;
  const at = plot.valToPos(x, 'x', true);
  if (at < bbox.left || at > bbox.left + bbox.width) return;
  ctx.beginPath();
  ctx.arc(at, plot.valToPos(y, 'y', true), 4 * ratio, 0, 2 * Math.PI);
  ctx.fillStyle = color('--page');
  ctx.strokeStyle = color(ink);
  ctx.lineWidth = 2 * ratio;
  ctx.fill();
  ctx.stroke();
}
