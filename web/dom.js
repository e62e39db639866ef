/**
 * Creates elements without ever parsing text as HTML.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

/** @typedef {Node | string | null | undefined} Child */

/**
 * @param {string} tag
 * @param {Record<string, any>} [attributes] Functions are listeners; null and false omit an attribute.
 * @param {...Child} children
 * @returns {any} The element.
 */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === 'function') element.addEventListener(name, value);
    else setAttribute(element, name, value);
  }
  for (const child of children) if (child !== null && child !== undefined) element.append(child);
  return element;
}

/**
 * @param {Element} element @param {string} name
 * @param {string | number | boolean | null | undefined} value Null and false remove it.
 */
export function setAttribute(element, name, value) {
  const text = value === true ? '' : String(value);
  if (value === null || value === undefined || value === false) element.removeAttribute(name);
  else if (element.getAttribute(name) !== text) element.setAttribute(name, text);
}

/** @param {Element} element @param {string} text */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** @param {string} id @returns {any} The element of the page. */
export const byId = (id) => document.getElementById(id);

/**
 * Runs the latest request in the next frame, once.
 * @param {() => void} run
 */
export function onceAFrame(run) {
  let isAsked = false;
  return () => {
    if (isAsked) return;
    isAsked = true;
    requestAnimationFrame(() => {
      isAsked = false;
      run();
    });
  };
}

const reducedMotion = typeof matchMedia === 'function' ? matchMedia('(prefers-reduced-motion: reduce)') : null;

/** Whether animations are allowed. */
export const mayMove = () => !reducedMotion?.matches;
