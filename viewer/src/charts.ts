// What all plots share: numbers as text, axes, colours.
import type uPlot from 'uplot';
import { css } from './theme';

const COLOURS = 8;

export const curveColour = (k: number): string => css(`--curve-${k % COLOURS}`);

export const format = (value: number): string => {
  if (!Number.isFinite(value)) return '\u2013';
  const size = Math.abs(value);
  if (Number.isInteger(value) && size < 1e6) return String(value);
  return size !== 0 && (size < 1e-3 || size >= 1e5) ? value.toExponential(1) : value.toPrecision(4);
};

export const plainAxis = (): uPlot.Axis => ({
  stroke: () => css('--muted'), font: '11px system-ui, sans-serif',
  grid: { stroke: () => css('--rule'), width: 1 }, ticks: { stroke: () => css('--rule'), width: 1, size: 4 },
});

// As many digits as tell neighbouring ticks apart; powers of ten alone on a logarithmic axis.
export function tickTexts(ticks: (number | null)[], log: boolean): string[] {
  if (log) return ticks.map((v) => (v === null ? '' : v.toExponential(0)));
  const values = ticks.map(Number);
  const spacing = values.length > 1 ? Math.abs(values[1] - values[0]) : 1;
  const largest = Math.max(...values.map(Math.abs));
  if (largest >= 1e6 || largest < 1e-3) return values.map((v) => (v === 0 ? '0' : String(Number(v.toPrecision(3)))));
  let digits = 0;
  while (digits < 10 && Math.abs(spacing * 10 ** digits - Math.round(spacing * 10 ** digits)) > 1e-6) ++digits;
  return values.map((v) => v.toFixed(digits));
}

// A little room above and below; a constant gets a band around it instead of a range of rounding errors.
export function padded(low: number | null, high: number | null): [number, number] {
  if (low === null || high === null) return [0, 1];
  const least = 1e-10 * Math.max(Math.abs(low), Math.abs(high), 1e-2);
  const room = high - low > least ? 0.06 * (high - low) : Math.max(0.5 * Math.abs(high), 0.5);
  return [low - room, high + room];
}
