/** What browsers have in place of the storage of a site whose data is blocked, or has no room. For `addInitScript`. */
export const UNUSABLE_STORAGE: Readonly<Record<string, () => void>> = {
  'throws when it is read': () => {
    for (const name of ['localStorage', 'sessionStorage', 'indexedDB', 'caches']) {
      Object.defineProperty(globalThis, name, {
        get() {
          throw new DOMException('The document is sandboxed', 'SecurityError');
        },
      });
    }
    Object.defineProperty(document, 'cookie', {
      get() {
        throw new DOMException('The document is sandboxed', 'SecurityError');
      },
    });
    // Only secure pages have these.
    Object.defineProperty(navigator, 'clipboard', { value: undefined });
    Object.defineProperty(navigator, 'serviceWorker', { value: undefined });
  },
  'is null': () => {
    for (const name of ['localStorage', 'sessionStorage']) {
      Object.defineProperty(globalThis, name, { value: null });
    }
  },
  'throws when it is used': () => {
    for (const name of ['getItem', 'setItem', 'removeItem']) {
      Object.defineProperty(Storage.prototype, name, {
        value() {
          throw new DOMException('Access is denied', 'SecurityError');
        },
      });
    }
  },
  'is full': () => {
    Storage.prototype.setItem = () => {
      throw new DOMException('The quota has been exceeded', 'QuotaExceededError');
    };
  },
};
