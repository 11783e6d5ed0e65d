// Buttons, slider and keys.
import type { Replay } from './data';
import type { Player } from './player';
import type { Layer, View } from './scene3d';
import type { Theme } from './theme';

export function element<T extends HTMLElement>(id: string): T {
  const found = document.getElementById(id);
  if (!found) throw new Error(`the page has no element ${id}`);
  return found as T;
}

const isPressed = (button: HTMLElement): boolean => button.getAttribute('aria-pressed') === 'true';
const setPressed = (button: HTMLElement, on: boolean): void => button.setAttribute('aria-pressed', String(on));

// A button that is on or off.
export function toggleButton(id: string, apply: (on: boolean) => void): void {
  const button = element(id);
  button.addEventListener('click', () => {
    setPressed(button, !isPressed(button));
    apply(isPressed(button));
  });
}

export class Timeline {
  private readonly scrub = element<HTMLInputElement>('scrub');
  private readonly clock = element('clock');
  private readonly play = element('play');
  private readonly speed = element<HTMLSelectElement>('speed');
  private readonly digits: number;

  constructor(private readonly player: Player) {
    const length = player.end - player.first;
    this.digits = length > 0 ? Math.min(6, Math.max(2, 3 - Math.floor(Math.log10(length)))) : 3;
    this.scrub.min = String(player.first);
    this.scrub.max = String(player.end);
    this.scrub.disabled = length <= 0;
    this.scrub.addEventListener('input', () => player.seek(Number(this.scrub.value)));
    this.play.addEventListener('click', () => player.toggle());
    element('back').addEventListener('click', () => player.step(-1));
    element('forward').addEventListener('click', () => player.step(1));
    this.speed.addEventListener('change', () => { player.speed = Number(this.speed.value); });
    toggleButton('loop', (on) => { player.loop = on; });
    this.update();
  }

  update(): void {
    const { time, end, playing } = this.player;
    const now = time.toFixed(this.digits);
    this.scrub.value = String(time);
    this.scrub.setAttribute('aria-valuetext', `${now} s`);
    const share = end > this.player.first ? (time - this.player.first) / (end - this.player.first) : 0;
    this.scrub.style.setProperty('--share', `${100 * share}%`);
    this.clock.textContent = `${now} / ${end.toFixed(this.digits)} s`;
    document.body.classList.toggle('playing', playing);
    this.play.setAttribute('aria-label', playing ? 'Pause' : 'Play');
  }

  changeSpeed(by: number): void {
    const index = this.speed.selectedIndex + by;
    if (index < 0 || index >= this.speed.options.length) return;
    this.speed.selectedIndex = index;
    this.player.speed = Number(this.speed.value);
  }
}

// Below the slider: the rows whose step was subdivided, and those where a try was rejected.
export function markSteps(replay: Replay): void {
  const { time, substeps, rejected } = replay.series;
  const first = replay.frames.time[0], length = replay.frames.time[replay.frames.time.length - 1] - first;
  if (length <= 0) return;
  const lines = (marked: (i: number) => boolean) => Array.from(time, (_, i) => i).filter(marked)
    .map((i) => `M${((1000 * (time[i] - first)) / length).toFixed(2)} 0V1`);
  const failed = lines((i) => rejected[i] > 0);
  const divided = lines((i) => substeps[i] > 1 && !(rejected[i] > 0));
  element('marks').querySelector('.subdivided')!.setAttribute('d', divided.join(''));
  element('marks').querySelector('.rejected')!.setAttribute('d', failed.join(''));
  if (divided.length + failed.length === 0) return;
  element('track').title = `Marked: ${divided.length + failed.length} rows with subdivided steps, ${failed.length} of them after rejected tries`;
}

export const metres = (x: number): string => `${Number(x.toPrecision(3))} m`;

export function connectContacts(view: View): () => void {
  const info = element('contact-info'), tip = element('tip'), canvas = element('view');
  element('forces').hidden = info.hidden = view.newtonsPerMetre === undefined;
  const bold = (text: string) => Object.assign(document.createElement('b'), { textContent: text });
  let pointer: [number, number] | undefined;
  const update = (): void => {
    const contacts = view.shownContacts;
    const total = Math.hypot(...contacts.reduce((sum, c) => [sum[0] + c.force.x, sum[1] + c.force.y, sum[2] + c.force.z], [0, 0, 0]));
    const deepest = Math.max(0, ...contacts.map((c) => c.depth));
    info.replaceChildren(bold(String(contacts.length)), contacts.length === 1 ? ' contact, ' : ' contacts, ',
                         bold(`${Number(total.toPrecision(4))} N`), ' in all, deepest ', bold(metres(deepest)));
    const under = pointer && view.contactAt(...pointer);
    tip.hidden = !under;
    if (!under || !pointer) return;
    const { x, y, z } = under.force;
    tip.textContent = `${under.name} on ${under.solid}\n${Number(under.force.length().toPrecision(4))} N ` +
      `(${[x, y, z].map((f) => Number(f.toPrecision(3))).join(', ')})\ndepth ${metres(under.depth)}`;
    const left = Math.min(pointer[0] + 14, Math.max(0, canvas.clientWidth - tip.offsetWidth - 4));
    tip.style.transform = `translate(${left}px, ${pointer[1] + 14}px)`;
  };
  canvas.addEventListener('pointermove', (event) => {
    pointer = [event.offsetX, event.offsetY];
    update();
  });
  canvas.addEventListener('pointerleave', () => {
    pointer = undefined;
    update();
  });
  return update;
}

// What lengths in the picture mean.
export function describeScale(view: View): string {
  const grid = view.hasGrid ? `Grid at z = ${metres(view.groundHeight)}, cells ${metres(view.cell)}` : '';
  const force = view.newtonsPerMetre;
  const arrows = force === undefined ? '' : `Force arrows: 0.1 m is ${Number((0.1 * force).toPrecision(3))} N`;
  return [grid, arrows].filter((text) => text !== '').join(' \u00b7 ');
}

export function connectView(view: View): void {
  element('fit').addEventListener('click', () => view.fit());
  toggleButton('follow', (on) => view.setFollow(on));
  setPressed(element('follow'), view.startsFollowing);
  view.setFollow(view.startsFollowing);
  for (const layer of ['collision', 'frames', 'trail', 'forces'] as Layer[]) toggleButton(layer, (on) => view.setLayer(layer, on));
}

export function connectKeys(player: Player, timeline: Timeline, theme: Theme, more: Record<string, () => void>): void {
  const actions: Record<string, (event: KeyboardEvent) => void> = {
    ' ': () => player.toggle(),
    ArrowLeft: (event) => player.step(event.shiftKey ? -10 : -1),
    ArrowRight: (event) => player.step(event.shiftKey ? 10 : 1),
    Home: () => player.seek(player.first),
    End: () => player.seek(player.end),
    '[': () => timeline.changeSpeed(-1),
    ']': () => timeline.changeSpeed(1),
    l: () => element('loop').click(),
    f: () => element('fit').click(),
    c: () => element('follow').click(),
    d: () => theme.toggle(),
    ...more,
  };
  window.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const target = event.target as HTMLElement;
    // Keys a focused control uses itself stay its own; the time slider takes part, so that a key means one frame.
    if (target.tagName === 'SELECT' || (target as HTMLInputElement).type === 'number' || (event.key === ' ' && /^(BUTTON|SUMMARY|INPUT)$/.test(target.tagName) && target.id !== 'scrub'))
      return;
    const action = actions[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!action) return;
    event.preventDefault();
    action(event);
  });
}
