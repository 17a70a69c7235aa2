"""The promises of every strategy, each a named test."""

import ctxkit_medical
import pytest
from ctxkit_medical import KeepMedicalConstraints

from ctxkit.testing import STRATEGY_LAWS, Law


@pytest.fixture(autouse=True)
def _every_other_text_states_something(monkeypatch: pytest.MonkeyPatch) -> None:
    """Generated conversations speak of nothing medical; without this no law would see a pin."""
    monkeypatch.setattr(ctxkit_medical, "subjects_of", lambda text: ["allergy"] if len(text) % 2 else [])


@pytest.mark.parametrize("law", STRATEGY_LAWS, ids=lambda law: law.__name__)
def test_laws(law: Law) -> None:
    law(KeepMedicalConstraints())
