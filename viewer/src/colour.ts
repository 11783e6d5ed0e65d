// Colours of the style sheet for three.js.
import { Color } from 'three';
import { css } from './theme';

export const cssColour = (name: string): Color => new Color(css(name));
