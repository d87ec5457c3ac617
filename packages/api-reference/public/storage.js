/*
 * What the browser keeps for the pages of this service. Where it keeps nothing, because site data is blocked or there is no room,
 * the page itself does, until it is left.
 */

class Kept {
  #name;
  /** What the browser does not keep. */
  #here = new Map();

  constructor(name) {
    this.#name = name;
  }

  get(key) {
    if (this.#here.has(key)) return this.#here.get(key);
    try {
      // The getter throws where site data is blocked (HTML, section 12.2.3), and other browsers have `null` there.
      return globalThis[this.#name].getItem(key);
    } catch {
      return null;
    }
  }

  /** The value of this key, or `undefined` if it is no JSON. */
  read(key) {
    try {
      return JSON.parse(this.get(key) ?? 'null');
    } catch {
      return undefined;
    }
  }

  /** Whether the browser keeps it, so that it is there when the page is loaded anew. */
  write(key, value) {
    const text = JSON.stringify(value);
    this.remove(key);
    try {
      globalThis[this.#name].setItem(key, text);
      return true;
    } catch {
      this.#here.set(key, text);
      return false;
    }
  }

  /** Whether it is there when the page is loaded anew. */
  lasts(key) {
    return !this.#here.has(key);
  }

  remove(key) {
    this.#here.delete(key);
    try {
      globalThis[this.#name].removeItem(key);
    } catch {
      // There is nothing to remove.
    }
  }
}

/** For all tabs, until it is removed. */
export const inBrowser = new Kept('localStorage');

/** For this tab, until it is closed. */
export const inTab = new Kept('sessionStorage');
