/**
 * xterm.js writes its colours and sizes into `style` elements and attributes, which the page's policy lets nothing read. What is
 * made in the document from now on keeps such a text where a policy has no say: in a sheet, and in properties.
 */
export function keepStyles(document: Document): void {
  const make = document.createElement.bind(document);
  document.createElement = (name: string, options?: ElementCreationOptions): HTMLElement => {
    // An empty one would be refused, too.
    if (name === 'style') return withSheet(make('template'), document);
    const element = make(name, options);
    element.setAttribute = (key, value) => {
      if (key === 'style') element.style.cssText = value;
      else Element.prototype.setAttribute.call(element, key, value);
    };
    return element;
  };
}

function withSheet(element: HTMLElement, document: Document): HTMLElement {
  const sheet = new CSSStyleSheet();
  Object.defineProperty(element, 'textContent', {
    set: (text: string) => {
      sheet.replaceSync(text);
      if (!document.adoptedStyleSheets.includes(sheet)) document.adoptedStyleSheets.push(sheet);
    },
  });
  element.remove = () => {
    document.adoptedStyleSheets = document.adoptedStyleSheets.filter((one) => one !== sheet);
    Element.prototype.remove.call(element);
  };
  return element;
}
