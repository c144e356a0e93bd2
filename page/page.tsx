/**
 * The page of a cell, which every monitor serves at `/`. It uses the public API alone, with its viewer's token.
 *
 * - `main.tsx` is where it begins: it takes a token from the link, and draws `Page`
 * - `cell/`: the way to the cell; `figures/`: what is computed; `parts/`: what views are made of; `views/`: the views
 * - `index.html`, `style.css` and `icon.svg` are its other files; `tsconfig.json` is for this room alone, which knows a browser
 *
 * `Page` asks for a token where the cell wants one; `Inside` is the page of somebody who is in: its header, how it stands with
 * the monitors, and the view that the address means.
 */
import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Cell, Entry } from './cell/cell.ts';
import { enter } from './cell/cell.ts';
import { heldToken, holdToken } from './cell/session.ts';
import { hashOf } from './figures/route.ts';
import { CellContext, useRoute, useWatched } from './parts/hooks.ts';
import { Loading } from './parts/parts.ts';
import { Login, VIEW_TITLES, View } from './views/views.tsx';

export function Page(): JSX.Element {
  const [entry, setEntry] = useState<Entry | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const come = (token: string | null): void => {
    enter(location.origin, token).then(
      (next) => {
        holdToken(next.kind === 'in' ? token : null);
        setError(null);
        setEntry(next);
      },
      (fault: unknown) => setError(fault as Error),
    );
  };
  useEffect(() => come(heldToken()), []);
  if (entry?.kind === 'in')
    return (
      <Inside
        cell={entry.cell}
        onLeave={() => {
          entry.cell.feed.end();
          come(null);
        }}
      />
    );
  return (
    <main class="outside">
      <h1>Moorage</h1>
      {entry === null ? <Loading error={error} /> : <Login why={entry.why} onToken={come} />}
    </main>
  );
}

function Inside(props: { readonly cell: Cell; readonly onLeave: () => void }): JSX.Element {
  const { cell, onLeave } = props;
  const route = useRoute();
  const main = useRef<HTMLElement>(null);
  const where = `${route.view}/${route.parts.join('/')}`;
  const shown = useRef(where);
  // The keyboard goes along to another view, as it would to another page.
  useEffect(() => {
    document.title = `${VIEW_TITLES[route.view]} · ${cell.me.cell} · Moorage`;
    if (shown.current !== where) main.current?.focus();
    shown.current = where;
  }, [where]);
  return (
    <CellContext.Provider value={cell}>
      <a class="skip" href="#main" onClick={(event) => (event.preventDefault(), main.current?.focus())}>
        To the content
      </a>
      <header>
        <p class="name">
          <strong>Moorage</strong> <span>{cell.me.cell}</span>
        </p>
        <nav aria-label="Views">
          <ul>
            {Object.entries(VIEW_TITLES).map(([view, title]) => (
              <li key={view}>
                <a
                  href={hashOf(view as keyof typeof VIEW_TITLES)}
                  aria-current={route.view === view ? 'page' : undefined}
                >
                  {title}
                </a>
              </li>
            ))}
          </ul>
        </nav>
        <p class="me">
          <span title={cell.me.name}>{cell.me.scope ?? cell.me.kind}</span>{' '}
          {cell.me.kind === 'token' ? (
            <button type="button" onClick={onLeave}>
              Sign out
            </button>
          ) : null}
        </p>
      </header>
      <LinkNotice cell={cell} />
      <main id="main" ref={main} tabIndex={-1}>
        <h1>{VIEW_TITLES[route.view]}</h1>
        <View key={where} route={route} />
      </main>
    </CellContext.Provider>
  );
}

/** Says when a monitor is silent, and which one answers instead. */
function LinkNotice(props: { readonly cell: Cell }): JSX.Element {
  const { link } = props.cell;
  const { at, silent, known } = useWatched(link.state);
  const isAway = silent.includes(link.home);
  const answering = at !== null && !silent.includes(at) ? at : null;
  return (
    <div role="status" class={isAway ? 'notice bad' : 'unseen'}>
      {!isAway ? null : answering !== null ? (
        <>
          ▲ The monitor at {link.home} does not answer. This page goes on at {answering}.
        </>
      ) : (
        <>
          ▲ No monitor answers; what you see is what was last known. This page tries again.{' '}
          {known
            .filter((one) => one !== link.home)
            .map((one) => (
              <a key={one} href={`${one}/`}>
                Open {one}
              </a>
            ))}
        </>
      )}
    </div>
  );
}
