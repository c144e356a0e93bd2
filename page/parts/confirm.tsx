import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';

/** Asks before something is done. Escape is "no"; the keyboard stays within, and comes back afterwards. */
export function Confirm(props: {
  readonly title: string;
  readonly yes: string;
  readonly onYes: () => void;
  readonly onNo: () => void;
  readonly children: ComponentChildren;
}): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} aria-labelledby="confirm-title" onClose={props.onNo}>
      <h2 id="confirm-title">{props.title}</h2>
      {props.children}
      <p class="actions">
        <button type="button" onClick={() => dialog.current?.close()}>
          Cancel
        </button>
        <button type="button" class="strong" onClick={props.onYes}>
          {props.yes}
        </button>
      </p>
    </dialog>
  );
}
